# SPDX-License-Identifier: Apache-2.0
#
# Engines for L7 rules on the nodes of a cluster (read after cluster.sh).

# engine_ports NODE: the ports of an engine, to be committed.
engine_ports() {
    netns_add "box-$1" || fail "can't make the engine's namespace"
    tap_add "$1" "box-$1" antrea-l7-tap0 tap0 70
    tap_add "$1" "box-$1" antrea-l7-tap1 tap1 71
}

# engine NODE: an engine with ports in NODE's bridge.
engine() {
    engine_ports "$1"
    node_commit "$1"
    rules "$1"
    spawn "$1.engine" ip netns exec "$(ns "box-$1")" "$E2E_PYTHON" \
        "$E2E_SRC/l7-engine.py" tap0 tap1 "$E2E_DIR/$1.rules"
    must_wait_for 10 "the engine of $1" grep -q ready "$E2E_DIR/$1.engine.out"
}

# rules NODE: the engine's set-up.
rules() {
    dpctl "$1" get l7rules -o json > "$E2E_DIR/$1.rules.new" 2>/dev/null \
        || fail "no L7 rules of $1"
    mv "$E2E_DIR/$1.rules.new" "$E2E_DIR/$1.rules"
}

frames() {              # NODE: what its engine has got.
    grep -c '^[0-9]' "$E2E_DIR/$1.engine.out"
}

said() {                # NODE TEXT
    grep -qxF -- "$2" "$E2E_DIR/$1.engine.out"
}
