#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything from a fresh clone on Debian 12 to a running datapath.

set -o errexit -o nounset -o pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# What the build and the tests need of the distribution.
packages=(
    autoconf automake libtool pkg-config gcc libc6-dev make patch
    openvswitch-source
    dpdk dpdk-dev libdpdk-dev libnuma-dev libpcap-dev
    libcap-ng-dev libssl-dev libunbound-dev libyaml-dev check
    python3 python3-docutils
    curl ethtool iproute2 iputils-ping nftables procps tcpdump util-linux
)

# What the Nodes of the demo and of tests need: their daemons have the rights
# that systemd would leave them.
node_packages=(python3-seccomp systemd)

# What only the end-to-end tests need, and those of completion.
e2e_packages=(fish python3-os-ken zsh)

# What only the test suite upstream-full needs.
upstream_full_packages=(
    iptables lftp net-tools netcat-openbsd python3-pyftpdlib wget
)

# What only the fuzzers need.
fuzz_packages=(clang)

# What only the benchmark needs.
bench_packages=(gnuplot-nox xz-utils)

usage() {
    cat <<'USAGE'
usage: ./boot.sh [COMMAND [ARGUMENT]...]

  (none)                       prepare the source tree for ./configure
  build [--enable-sanitizers]  install what is needed, build, and leave a
                               tree to run in _install/ (_install-asan/)
  build --enable-thread-sanitizer
                               build the daemon that check-tsan runs, in
                               _build-tsan/
  demo [ARGUMENT...]           build, then run the two-node demo
  check [SUITE...]             build, then run the tests (default: all suites
                               but upstream-full)
  fuzz [TARGET...] [SECONDS]   build the fuzzers with clang, in _build-fuzz/, and
                               run each for SECONDS (default: 60)
  bench [OPTION...] [CASE...]  build, then measure beside stock Open vSwitch

Once the packages are installed all of it works offline, but for the first run
of bench, which fetches the source package of DPDK.
USAGE
}

die() {
    printf 'boot.sh: %s\n' "$*" >&2
    exit 1
}

# How to become root: nothing, sudo, or sudo that may ask for a password where
# somebody can answer.  Fails if there is no way.
root_prefix() {
    if [ "$(id -u)" = 0 ]; then
        :
    elif sudo -n true 2>/dev/null; then
        echo sudo -n
    elif [ -t 0 ] && command -v sudo >/dev/null; then
        echo sudo
    else
        return 1
    fi
}

as_root() {
    local prefix

    prefix=$(root_prefix) ||
        die "this needs root, and sudo doesn't give it; as root run: $*"
    # shellcheck disable=SC2086 # Words, or nothing.
    $prefix "$@"
}

# tests_need_root [SUITE | TEST-FILE]...: those that tests/run has sudo run.
tests_need_root() {
    local name

    [ $# -gt 0 ] || return 0
    for name in "$@"; do
        case $name in
        check | check-asan | check-tsan | tsan | upstream) ;;
        *tests/threads/* | *tests/upstream/*) ;;
        *) return 0 ;;
        esac
    done
    return 1
}

# A password would be asked for in the middle of the tests, where nobody is.
check_root() {
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
        die "these tests need root, or a sudo that doesn't ask for a password"
}

# Other systems have another openvswitch-source, or none.
check_system() {
    local file=${ADP_OS_RELEASE:-/etc/os-release} name

    if ! grep -qs '^VERSION_CODENAME=bookworm$' "$file"; then
        name=$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' "$file" 2>/dev/null || :)
        die "this needs Debian 12, whose package openvswitch-source it builds" \
            "from; this is ${name:-another system}"
    fi
}

# Nodes and Pods of the demo and of tests are network namespaces.
check_namespaces() {
    local name=adp-probe-$$ said

    if ! said=$(as_root ip netns add "$name" 2>&1); then
        die "this needs network namespaces, and can't make one: $said"
    fi
    as_root ip netns delete "$name"
}

# missing_packages NAME...
missing_packages() {
    local name

    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Abbrev}\n' "$name" 2>/dev/null |
            grep -q '^.i' || printf '%s\n' "$name"
    done
}

# install_packages [NAME...]: those, and what the build needs.
install_packages() {
    local missing

    check_system
    mapfile -t missing < <(missing_packages "${packages[@]}" "$@")
    if [ ${#missing[@]} -gt 0 ]; then
        root_prefix >/dev/null ||
            die "packages are missing; as root run: apt-get update &&" \
                "apt-get install -y --no-install-recommends ${missing[*]}"
        printf 'installing %s\n' "${missing[*]}"
        # Another apt may be at work.
        as_root apt-get -o DPkg::Lock::Timeout=600 update
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
            -o DPkg::Lock::Timeout=600 --no-install-recommends "${missing[@]}"
    fi
}

# True if the generated build system is missing or older than its sources.
# (Once configured, make itself looks after that.)
needs_autoreconf() {
    local f

    [ -e "$top/configure" ] && [ -e "$top/Makefile.in" ] || return 0
    for f in "$top/configure.ac" "$top/Makefile.am" "$top"/*/automake.mk; do
        [ ! "$f" -nt "$top/configure" ] || return 0
    done
    return 1
}

prepare_configure() {
    mkdir -p "$top/m4"
    (cd "$top" && autoreconf --install --force)
}

# configure_in SUFFIX CONFIGURE-OPTION...
configure_in() {
    local build=$top/_build$1 install=$top/_install$1 prefix
    shift

    # The place is compiled in.
    if [ -e "$build/Makefile" ]; then
        prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
        if [ "${prefix##*/}" != "${install##*/}" ] ||
           ! [ "${prefix%/*}" -ef "$top" ]; then
            echo "building anew: $build was for ${prefix:-nothing}"
            rm -rf "$build"
        fi
    fi
    if [ ! -e "$build/Makefile" ]; then
        if needs_autoreconf; then
            echo 'preparing configure'
            prepare_configure
        fi
        mkdir -p "$build"
        (cd "$build" && ../configure --quiet --prefix="$install" \
            INSTALL="$(command -v install) -C" "$@")
    fi
}

# build_in SUFFIX CONFIGURE-OPTION...
build_in() {
    local build=$top/_build$1 install=$top/_install$1

    configure_in "$@"
    make -C "$build" -s -j "$(nproc)" all </dev/null
    if ! make -C "$build" -s install </dev/null >"$build/install.log" 2>&1
    then
        cat "$build/install.log" >&2
        die "make install failed in $build"
    fi
    printf 'ready: %s\n' "$install"
}

build() {
    case "$#,${1-}" in
    0,) install_packages; build_in '' ;;
    1,--enable-sanitizers)
        install_packages
        build_in -asan --enable-sanitizers
        ;;
    1,--enable-thread-sanitizer)
        install_packages
        configure_in -tsan --enable-thread-sanitizer
        make -C "$top/_build-tsan" -s -j "$(nproc)" \
            tests/threads/ovs-vswitchd </dev/null
        printf 'ready: %s\n' "$top/_build-tsan"
        ;;
    *)
        printf 'boot.sh: build does not take: %s\n' "$*" >&2
        usage >&2
        exit 2
        ;;
    esac
}

demo() {
    "$top/tests/demo/demo.sh" --only-parse "$@"
    case ${1-} in
    -h | --help) exec "$top/tests/demo/demo.sh" "$1" ;;
    esac
    install_packages "${node_packages[@]}"
    check_namespaces
    build
    as_root "$top/tests/demo/demo.sh" "$@"
}

check() {
    local more=() namespaces=no

    "$top/tests/run" --only-parse "$@"
    ! tests_need_root "$@" || check_root
    case " $* " in
    *' upstream-full '* | *tests/upstream-full/*)
        more+=("${upstream_full_packages[@]}")
        ;;
    esac
    case " $* " in
    '  ' | *' e2e '* | *tests/e2e/*) more+=("${e2e_packages[@]}") ;;
    esac
    case " $* " in
    '  ' | *' e2e '* | *tests/e2e/* | *' mesh '* | *tests/mesh/*)
        more+=("${node_packages[@]}")
        namespaces=yes
        ;;
    *' oracle '* | *tests/oracle/*) namespaces=yes ;;
    esac
    install_packages "${more[@]}"
    [ "$namespaces" = no ] || check_namespaces
    build
    build --enable-sanitizers
    case " $* " in
    '  ' | *tsan* | *tests/threads/*) build --enable-thread-sanitizer ;;
    esac
    exec "$top/tests/run" "$@"
}

fuzz() {
    case " $* " in
    *' -h '* | *' --help '* | *' -l '*) exec "$top/tests/fuzz/run" "$@" ;;
    esac
    "$top/tests/fuzz/run" --only-parse "$@"
    install_packages "${fuzz_packages[@]}"
    configure_in -fuzz --enable-fuzzers CC=clang
    make -C "$top/_build-fuzz" -s -j "$(nproc)" fuzzers </dev/null
    exec "$top/tests/fuzz/run" "$@"
}

bench() {
    local arg

    "$top/tests/bench/bench" --only-parse "$@"
    for arg in "$@"; do
        case $arg in
        -h | --help | -l | --list) exec "$top/tests/bench/bench" "$arg" ;;
        --perf) bench_packages+=(linux-perf) ;;
        esac
    done
    install_packages "${bench_packages[@]}"
    build
    exec "$top/tests/bench/bench" "$@"
}

main() {
    local command=${1-}

    [ $# = 0 ] || shift
    case $command in
    '') prepare_configure ;;
    build | demo | check | fuzz | bench) "$command" "$@" ;;
    -h | --help | help) usage ;;
    *)
        printf 'boot.sh: unknown command: %s\n' "$command" >&2
        usage >&2
        exit 2
        ;;
    esac
}

main "$@"
