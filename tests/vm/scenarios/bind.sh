# shellcheck shell=bash
# about: every instance of the demo host gets its nodes: all threads, all anonymous memory, and nobody else is touched
# machines: epyc8 epyc8-cgroup1
# long machines: arm16 epyc8-bullseye epyc8-trixie epyc8-sanitized rpm-bullseye rpm-bookworm rpm-trixie rpm-cgroup1
# timeout: 900
# The demo is this scenario as far as its table (--set demo=1).

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

# interrupts WHEN: of the demo's card under traffic, and how many of them landed on CPUs of instances
interrupts() {
        local irqs before all_before
        mapfile -t irqs < <(vectors_of "$card")
        before=$(count_on "$taken" "${irqs[@]}") all_before=$(count_on all "${irqs[@]}")
        traffic 3 >/dev/null
        echo "$1 $card $(($(count_on all "${irqs[@]}") - all_before)) $(($(count_on "$taken" "${irqs[@]}") - before))" >>"$ARTIFACTS/interrupts"
}

step 'six servers start, with their memory spread over all nodes'
# Strangers: one that no policy names, and another user's process that only has the name of a server and of its unit.
systemd-run --quiet --unit=stranger.service sleep infinity
install -D -m 755 "$vm_payload/bin/workload" /opt/thief/tidb-server
systemd-run --quiet --unit=tidb-6666.service --uid=nobody /opt/thief/tidb-server --anon 32M --spread --port 6666
wait_until 60 'the stranger listens' listens 6666
demo_host_up

status_of() {
        cat "/proc/$(main_pid "$1")/status"
}
# A server's own accounting moves; what it is allowed must not.
allowed_of() {
        status_of "$1" | grep -E '^(Cpus|Mems)_allowed'
}
stranger_before=$(status_of stranger)
thief_before=$(allowed_of tidb-6666)
thief_memory=$(kview anon tidb-6666.service --json)

mapfile -t units < <(demo_plan | cut -d' ' -f1)
cursor=$(journal_cursor)
step 'the package is installed'
install_package
kview snapshot "${units[@]}" --json >"$ARTIFACTS/before.json"
: >"$ARTIFACTS/interrupts"
if [[ -n ${demo:-} ]]; then
        step 'a network card gets traffic'
        card=$(nic_of_node 2) taken=$(demo_plan | awk '{ print $4 }' | xargs) # one CPU a node, of its number
        peer_up "$card" "$(nic_of_node 5)"
        trap peer_down EXIT
        interrupts before
fi

# All are watched from the moment that the policy comes into force: each look at the kernel's files is one of all of them,
# and says how long those took that it shows at home for the first time.
step 'the policies are loaded: the daemon binds the servers and moves their memory'
demo_policy
[[ -z ${demo:-} ]] || policy demo-steering <"$vm_payload/guest/demo-steering.yaml"
start=$(uptime_ms)
systemctl reload tidbnumad

declare -A seconds=()
all_home() {
        local answer unit
        while read -r answer unit _; do
                [[ $answer == off || -n ${seconds[${unit%:}]:-} ]] ||
                        seconds[${unit%:}]=$(awk -v ms=$(($(uptime_ms) - start)) 'BEGIN { printf "%.1f", ms / 1000 }')
        done < <(kview on "${homes[@]}")
        ((${#seconds[@]} == ${#units[@]}))
}
mapfile -t homes < <(demo_plan | sed -E 's/^([^ ]*) .* /\1=/')
end=$((SECONDS + 180))
until all_home || ((SECONDS > end)); do sleep 0.2; done
while read -r unit name memory node; do
        check "$unit: every thread and every anonymous byte on node $node" test -n "${seconds[$unit]:-}"
        echo "$unit $name $memory $node ${seconds[$unit]:-never}" >>"$ARTIFACTS/plan"
done < <(demo_plan)
# The nodes are narrowed last, after all memory is at home.
while read -r unit _ memory node; do
        until [[ $memory != bind ]] || held_to "$unit" "$node" >/dev/null || ((SECONDS > end)); do sleep 0.2; done
        [[ $memory != bind ]] || check "$unit is held to node $node by the kernel" held_to "$unit" "$node"
done < <(demo_plan)

# Counters that the kernel folds late must not have hidden anything: the same again, once the daemon has looked anew.
daemon_looks
kview snapshot "${units[@]}" --json >"$ARTIFACTS/after.json"
check 'all stay where they are' kview on "${homes[@]}"

scrape /metrics >"$ARTIFACTS/metrics.prom"
[[ -z ${demo:-} ]] || { traffic 2 >/dev/null && interrupts after; } # an interrupt goes elsewhere when its next one arrives
demo-table "$ARTIFACTS"/{plan,before.json,after.json,metrics.prom,interrupts} >"$ARTIFACTS/table"
cat "$ARTIFACTS/table"
if [[ -n ${demo:-} ]]; then plan; exit; fi

# One line an instance, with the fields that operators filter by.
said_bound() {
        journalctl -q --after-cursor="$cursor" -o json | jq -e --arg name "$1" --arg policy "$2" --arg said "$3" -s 'map(select(
                ._SYSTEMD_UNIT == "tidbnumad.service" and .TIDBNUMAD_INSTANCE == $name and .TIDBNUMAD_POLICY == $policy and
                .MESSAGE_ID != null and (.MESSAGE | test($said)))) | length == 1'
}
stat_anon_elsewhere() {
        kview numa-stat "$1" --json | jq --arg node "$2" '.anon | del(.[$node]) | [.[]] | add'
}
whole=6
while read -r unit name _; do
        said='is bound to node'
        # It has a page of shared memory, which v1 counts as anonymous: the daemon must not say that nothing is left when it
        # stayed elsewhere.
        if [[ $unit == haproxy.service ]] && is_cgroup_v1 && (($(stat_anon_elsewhere "$unit" 5) > 0)); then
                said='is only partly bound to node' whole=5
        fi
        check "the journal tells of ${unit%.service} once, with its fields" said_bound "${unit%.service}" "$name" "$said"
done < <(demo_plan)

is "$(status_of stranger)" "$stranger_before" 'a process that no policy names is untouched, byte for byte'
is "$(allowed_of tidb-6666)" "$thief_before" "another user's process gained nothing by its name"
# To a MiB: NUMA balancing is on, and may move a page of it for reasons of its own.
lies_as_before() {
        kview anon tidb-6666.service --json | jq -e --argjson before "$thief_memory" 'keys == ($before | keys) and
                ([to_entries[] | .value - $before[.key] | fabs] | max) < 1048576'
}
check 'and its memory lies where it lay' lies_as_before

check 'the table has two lines an instance and one of its metrics' \
        test "$(grep -cE ' (before|after|yes/yes) ' "$ARTIFACTS/table")" = $((12 + whole))
artifact /run/tidbnumad/status.json
plan
