# bash completion for antrea-dpctl                         -*- shell-script -*-
# SPDX-License-Identifier: Apache-2.0

# For bash, which splits words at "=" and ":", replaces only what stands behind
# these, and puts what is offered into the line as it is: so it is quoted.
_antrea_dpctl()
{
    local words=() i last cut= quoted

    for ((i = 0; i <= COMP_CWORD; i++)); do
        last=${COMP_WORDS[i]}
        if ((i > 1)) &&
           [[ $last =~ ^[=:]+$ || ${COMP_WORDS[i-1]} =~ ^[=:]+$ ]]; then
            cut=${words[-1]}
            words[-1]+=$last
            [[ ! $last =~ ^[=:]+$ ]] || cut=${words[-1]}
        else
            cut=
            words+=("$last")
        fi
    done
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _antrea_dpctl_words
    cut=${cut//[\'\"\\]/}
    last=${words[-1]}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
        [ -n "${COMPREPLY[i]}" ] || continue
        printf -v quoted %q "${COMPREPLY[i]}"
        if [[ $last == [\'\"]* && $quoted != "${COMPREPLY[i]}" ]]; then
            unset "COMPREPLY[i]"        # It would be quoted twice.
        elif [[ $last == '~'* ]]; then  # A file of somebody's.
            COMPREPLY[i]=${quoted/#'\~'/'~'}
        else
            COMPREPLY[i]=$quoted
        fi
    done
}

# For words that are whole, the last of which may be --OPTION=VALUE.
_antrea_dpctl_words()
{
    local last=${COMP_WORDS[COMP_CWORD]} option= i

    if [[ $last == --*=* ]]; then
        option=${last%%=*}
        COMP_WORDS[COMP_CWORD]=$option
        COMP_CWORD=$((COMP_CWORD + 1))
        COMP_WORDS[COMP_CWORD]=${last#*=}
    fi
    _antrea_dpctl_find
    [ -n "$option" ] || return 0
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$option=${COMPREPLY[i]}
    done
}

# Asks the daemon that the line is about.
_antrea_dpctl_ask()
{
    local i about=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -s | --socket | -b | --bridge)
            i=$((i + 1))
            about+=("${COMP_WORDS[i-1]}" "${COMP_WORDS[i]}")
            ;;
        --socket=* | --bridge=*) about+=("${COMP_WORDS[i]}") ;;
        esac
    done
    "${COMP_WORDS[0]}" "${about[@]}" -t 2 "$@" 2>/dev/null
}

# Offers those of the lines of stdin that begin as the word does.  They are
# names that anybody may have chosen: no shell may expand them, as that of
# "compgen -W" does.
_antrea_dpctl_names()
{
    local name begun=${cur//[\'\"\\]/}

    while IFS= read -r name; do
        [[ $name != "$begun"* ]] || COMPREPLY+=("$name")
    done
}

# Behind an 'option' that ends in "=", only its values.
_antrea_dpctl_find()
{
    local cur prev word command='' n_words=0 kind='' i
    local commands='apply diff follow replace delete resync resolve get describe trace
        status supportbundle stats top
        logs explain program version help'
    local kinds='all records manifests nodes namespaces pods services
        endpoints endpointslices networkpolicies acnp annp anp banp tiers clustergroups
        groups nodeconfigs peernodes addressgroups appliedtogroups l7rules fqdns
        multicastgroups egresses trafficcontrols policies flows'
    local options='--socket --bridge --output --timeout --help --version'

    COMPREPLY=()
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}

    case $prev in
    -f | --filename | --pcap | --html | -s | --socket | --db)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    -o | --output)
        mapfile -t COMPREPLY < <(compgen -W 'table json yaml name wide' -- "$cur")
        return
        ;;
    -b | --bridge | -n | --namespace | -t | --timeout | --node | --index | \
    -d | --delay | --count | --in-port | --gateway-port | --gateway-mac | \
    --tunnel-port | --service-cidr | --since | --from | --to | --protocol | \
        --family)
        return
        ;;
    --pod | --policy | --service)
        kind=${prev#--}s
        _antrea_dpctl_names \
            < <(_antrea_dpctl_ask -o name get "${kind/policys/policies}")
        return
        ;;
    --table)
        _antrea_dpctl_names < <(_antrea_dpctl_ask explain \
                                | awk 'NF && $1 ~ /^[0-9]+$/ { print $2 }')
        return
        ;;
    esac

    [ -z "$option" ] || return 0

    # The command and its first word, whatever options stand between them.
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        -s | -b | -o | -t | -f | -n | -d | --socket | --bridge | --output | \
        --timeout | --delay | --count | --filename | --namespace | --node | --db | --pcap | \
        --html | --index | --in-port | --gateway-port | --gateway-mac | \
        --tunnel-port | --service-cidr | --since | --policy | --from | --to | \
        --protocol | --family | --pod | --service | --table)
            i=$((i + 1))
            ;;
        -*) ;;
        *)
            n_words=$((n_words + 1))
            case $n_words in
            1) command=$word ;;
            2) kind=$word ;;
            esac
            ;;
        esac
    done

    case $command in
    apply | replace | resolve)
        options+=' --filename --namespace --node --change-node --db
            --gateway-port --gateway-mac --tunnel-port --service-cidr
            --ignore-unknown'
        [ "$command" = resolve ] || options+=' --dry-run --keep-going'
        [ "$command" != apply ] || options+=' --stream'
        ;;
    follow | diff)
        options+=' --filename --namespace --node --change-node --db
            --gateway-port --gateway-mac --tunnel-port --service-cidr
            --ignore-unknown'
        ;;
    delete)
        options+=' --filename --namespace --node --change-node --db
            --gateway-port --gateway-mac --tunnel-port --service-cidr
            --ignore-unknown --dry-run --ignore-not-found'
        ;;
    resync)
        options+=' --node --change-node --db --gateway-port --gateway-mac
            --tunnel-port --service-cidr --dry-run --keep-going'
        ;;
    get)
        options+=' --namespace --all-namespaces --watch'
        case $kind in
        flow | flows | ovsflows)
            options+=' --pod --policy --service --table'
            ;;
        polic* | networkpolic* | netpol) options+=' --pod' ;;
        esac
        ;;
    describe) options+=' --namespace' ;;
    status | supportbundle) options+=' --db' ;;
    trace)
        options+=' --pcap --index --in-port --from --to --protocol --family
            --html --namespace --follow'
        ;;
    top) options+=' --delay --count' ;;
    logs) options+=' --follow --since --policy --namespace' ;;
    esac

    if [[ $cur == -* ]]; then
        word=$options
    elif [ -z "$command" ]; then
        word=$commands
    else
        case $command/$n_words in
        get/1 | describe/1 | delete/1) word=$kinds ;;
        get/* | describe/* | delete/*)
            _antrea_dpctl_names < <(_antrea_dpctl_ask -o name get "$kind")
            return
            ;;
        *) word= ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}

# Its options are those of "antrea-dpctl follow", but for the feeds.
_antrea_dp_follow()
{
    COMP_WORDS=("${ANTREA_DPCTL:-antrea-dpctl}" follow "${COMP_WORDS[@]:1}")
    COMP_CWORD=$((COMP_CWORD + 1))
    "${_antrea_dpctl_as:-_antrea_dpctl}"
    mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | grep -v -e '^--filename$')
}

# For other shells: prints what is offered for word number $1, from 0, of the
# words behind it.
_antrea_dpctl_offer()
{
    local _antrea_dpctl_as=_antrea_dpctl_words

    COMP_CWORD=$1
    shift
    COMP_WORDS=("$@")
    case ${1##*/} in
    antrea-dp-follow) _antrea_dp_follow ;;
    *) _antrea_dpctl_words ;;
    esac
    [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}

complete -F _antrea_dpctl antrea-dpctl
complete -F _antrea_dp_follow antrea-dp-follow
