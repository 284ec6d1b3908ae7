# shellcheck shell=bash
# about: servers that have chosen CPUs themselves get these back, whichever of them is bound first (kernels before 6.2 forget them all then)
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

units=("${demo_units[@]}" haproxy)

# Of each server those of its threads, as the kernel shows them.
masks_of() {
        local unit pid
        for unit in "${units[@]}"; do
                echo "$unit $(for pid in $(systemctl show -P MainPID "$unit") $(pgrep -P "$(main_pid "$unit")"); do
                        awk '/^Cpus_allowed_list/ { print $2 }' "/proc/$pid"/task/*/status
                done | sort -u | paste -sd' ')"
        done
}
are_bound() {
        local unit
        for unit in "${units[@]}"; do
                state_is "$unit" bound || return 1
        done
}
are_as() {
        diff <(echo "$1") <(masks_of)
}
# README's first policy, without what does not run here
first_policy() {
        policy masks <<EOT
version: 1
policies:
  - {name: tikv, match: {exe: tikv-server, unit: "tikv-*.service", user: tidb}, place: {near: storage}, memory: bind}
  - {name: tidb, match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}}
  - {name: pd, match: {exe: pd-server, unit: "pd-*.service", user: tidb}, place: {share: shared}}
  - {name: haproxy, match: {exe: haproxy, unit: haproxy.service}, place: {share: shared}}
sampling: {interval: 2s}
enforcement: {mode: $1}
EOT
        systemctl reload tidbnumad
}

demo_host_up
taskset -a -p -c 2-4 "$(main_pid tikv-20160)" >/dev/null
taskset -a -p -c 5 "$(main_pid pd-2379)" >/dev/null
before=$(masks_of)
echo "$before"
check 'HAProxy has chosen CPUs itself' grep -qxE 'haproxy [0-7]' <<<"$before"
install_package
first_policy observe
rounds=${long:+6}
for ((round = 1; round <= ${rounds:-2}; round++)); do
        first_policy enforce
        wait_until 120 'all are bound' are_bound
        systemctl show -P AllowedCPUs "${units[@]}" | paste -sd' '
        tidbnumactl release --all >"$ARTIFACTS/release-$round"
        wait_until 60 "round $round: released together, all have their own CPUs again" are_as "$before"
        ok "round $round: released together, all have their own CPUs again"
        first_policy observe
        tidbnumactl release --undo --all >/dev/null
done
plan
