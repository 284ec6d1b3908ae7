# shellcheck shell=bash
# about: placed by topology: TiKV at its disk, the card's node left free, one TiDB a node; one more moves nobody, nor does a restart
# in turn: epyc8
# long machines: nodes16 epyc8-bullseye epyc8-trixie arm16
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

# A virtio card: its node is told one level up, by its PCI device.
card=$(grep -lx 1 /sys/class/net/*/device/../numa_node | cut -d/ -f5)
units=("${demo_units[@]/%/.service}" haproxy.service)

# place_policy [AVOID]: no node is named but those to stay away from.
place_policy() {
        policy place <<EOT
version: 1
host:
  reserve: {nodes: nic, devices: [$card]}
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {avoid: [${1:-}]}
    memory: bind
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {near: storage}
    memory: bind
  - name: pd
    match: {exe: pd-server, user: tidb, unit: "pd-*.service"}
    place: {share: shared}
    memory: preferred
  - name: haproxy
    match: {exe: /usr/sbin/haproxy, unit: haproxy.service}
    place: {share: shared}
    memory: preferred
sampling: {interval: 5s}
EOT
}

# nodes UNIT…: the node of each, by the CPUs of all its threads: this machine has one CPU a node, of the same number.
nodes() {
        kview snapshot "$@" | sed -nE "s/^[^ ]+: cpus \['([^']*)'\] .*/\1/p" | paste -sd' '
}

single() {
        [[ $1 =~ ^[0-9]+( [0-9]+)*$ ]] && (($(wc -w <<<"$1") == $2))
}

all_single() {
        single "$(nodes "${units[@]}")" ${#units[@]}
}

# Each anonymous byte of all of them is where they are.
settled() {
        local i at
        read -ra at <<<"$(nodes "${units[@]}")"
        ((${#at[@]} == ${#units[@]})) || return 1
        for i in "${!units[@]}"; do
                at[i]=${units[i]}=${at[i]}
        done
        kview on "${at[@]}"
}

distinct() {
        (($(tr ' ' '\n' <<<"$1" | sort -u | wc -l) == $(wc -w <<<"$1")))
}

socket_of() {
        cat "/sys/devices/system/cpu/cpu$1/topology/physical_package_id"
}

# --- they run before the daemon comes ----------------------------------------------------------------------------------

demo_host_up
place_policy
install_package
wait_until 120 'each instance has one node' all_single
wait_until 180 'and all its anonymous memory there' settled
before=$(nodes "${units[@]}")
tidbs=$(nodes tidb-4000.service tidb-4001.service)
echo "placed: ${units[*]} on $before"

is "$(nodes tikv-20160.service tikv-20161.service)" '3 6' 'each TiKV is on the node of the NVMe disk under its data directory'
check "nobody is on the network card's node" test -z "$(tr ' ' '\n' <<<"$before" | grep -x 1)"
check 'each TiDB and TiKV has a node of its own' distinct "$tidbs 3 6"
check 'the two TiDB are on two sockets' test "$(socket_of "${tidbs% *}")" != "$(socket_of "${tidbs#* }")"
check 'PD and HAProxy are where nobody is exclusive' distinct "$tidbs 3 6 $(nodes pd-2379.service)"
check 'the status tells who was chosen' jq -e '[.instances[].basis] | all(. == "chosen" or . == "kept")' /run/tidbnumad/status.json

# What the operator is told is what the kernel shows.
told() {
        tidbnumactl plan --json | jq -r --args '[$ARGS.positional[] as $name | .instances[] | select(.name == $name) | .nodes] | join(" ")' \
                "${units[@]%.service}"
}
is "$(told)" "$before" 'tidbnumactl plan says the same of what runs'
check 'and explains one of them' grep -q 'It belongs to the policy tidb' <(tidbnumactl explain tidb-4000)
check 'the policies are right' tidbnumactl validate
broken=$(mktemp)
echo 'policies: []' >"$broken"
check 'and a wrong one is refused, with its place' grep -q "^$broken:1:1: " <(! tidbnumactl validate "$broken" 2>&1)
rm "$broken"

# --- one more, and a restart -------------------------------------------------------------------------------------------

workload_unit tidb 4002 tidb-server - --anon 32M
workload_start tidb-4002
wait_until 60 'one more TiDB has one node' single "$(nodes tidb-4002.service)" 1
check 'which is free' distinct "$tidbs 3 6 1 $(nodes tidb-4002.service)"
is "$(nodes "${units[@]}")" "$before" 'nobody else has moved for it'

moved() {
        metric tidbnumad_migrated_bytes_total "name=\"$1\""
}
systemctl restart tidbnumad
daemon_looks
units+=(tidb-4002.service)
wait_until 60 'all are bound after a restart of the daemon' all_single
is "$(nodes "${units[@]::6}")" "$before" 'and are where they were'
is "$(moved tidb-4000) $(moved tikv-20160)" '0 0' 'with nothing moved'

# --- other rules -------------------------------------------------------------------------------------------------------

place_policy "${tidbs% *}"
systemctl reload tidbnumad
has_left() {
        local now
        now=$(nodes tidb-4000.service)
        single "$now" 1 && [[ $now != "${tidbs% *}" ]]
}
wait_until 60 'a TiDB leaves the node that its policy now avoids' has_left
wait_until 180 'with its memory' settled
is "$(nodes tikv-20160.service tikv-20161.service)" '3 6' 'the policies that did not change move nobody'
check "the card's node is still free" test -z "$(nodes "${units[@]}" | tr ' ' '\n' | grep -x 1)"
artifact /run/tidbnumad/status.json
plan
