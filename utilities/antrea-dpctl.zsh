#compdef antrea-dpctl antrea-dp-follow
# SPDX-License-Identifier: Apache-2.0
#
# Completion for zsh.  What there is to offer, bash's knows, which lies beside.

local bashs=${functions_source[${funcstack[1]}]:A:h:h:h}/bash-completion/completions/antrea-dpctl
local -a offered

[[ -r $bashs ]] || return 1
offered=("${(@f)$(bash -c '. "$1"; shift; _antrea_dpctl_offer "$@"' bash \
    $bashs $((CURRENT - 1)) "${(@)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
offered=(${offered:#})
(( $#offered )) || return 1
if [[ -e ${offered[1]} ]]; then
    compadd -f -a offered
else
    compadd -a offered
fi
