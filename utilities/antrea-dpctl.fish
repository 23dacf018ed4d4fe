# SPDX-License-Identifier: Apache-2.0
#
# Completion for fish, of antrea-dpctl and antrea-dp-follow.  What there is to
# offer, bash's knows, which lies beside.

set -g __antrea_dpctl_bashs (realpath (status dirname))/../../bash-completion/completions/antrea-dpctl

function __antrea_dpctl_offer
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    bash -c '. "$1"; shift; _antrea_dpctl_offer "$@"' bash \
        $__antrea_dpctl_bashs (count $words) $words "$current" 2>/dev/null
end

complete -c antrea-dpctl -f -a '(__antrea_dpctl_offer)'
complete -c antrea-dp-follow -f -a '(__antrea_dpctl_offer)'
