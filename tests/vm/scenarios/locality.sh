# shellcheck shell=bash
# about: memory in known shares, by locality sampled and exact, against numa_maps; 93 of 100 samples hold the truth; an instance in a scope has a ratio and its half-width
# machines: epyc8
# timeout: 1500

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/daemon.sh
. "${VM_LIB%/*}/daemon.sh"

echo 0 >/proc/sys/kernel/numa_balancing

# All on one node; three quarters and one; even over the eight; beside shared memory and a file.
workload_unit tidb 4000 tidb-server - --anon 64M --spread=2:1
workload_unit tidb 4001 tidb-server - --anon 64M --spread=2:3,7:1
workload_unit tidb 4002 tidb-server - --anon 64M --spread
workload_unit tidb 4003 tidb-server - --anon 64M --spread=2:1 --shmem 32M --file 16M
workload_start tidb-4000 tidb-4001 tidb-4002 tidb-4003
install_package

# anon_at PID NODE: bytes by numa_maps, read by other code than ours
anon_at() {
        awk -v node="N$2=" '/ anon=/ && !/ file=/ { for (i = 1; i <= NF; i++) if (index($i, node) == 1) pages += substr($i, length(node) + 1) } END { print pages * 4096 }' "/proc/$1/numa_maps"
}

# holds PID NODE: is the truth within the half-width of one sample?
holds() {
        local all=0 node truth
        for node in {0..7}; do
                all=$((all + $(anon_at "$1" "$node")))
        done
        truth=$(anon_at "$1" "$2")
        tidbnumactl locality "$1" --json | jq -e --argjson truth "$truth" --argjson all "$all" --argjson node "$2" \
                '(.nodes | map(.anon_bytes) | add) as $seen
                 | ((.nodes[] | select(.node == $node).anon_bytes) / $seen - $truth / $all | fabs) <= .share_halfwidth + 0.0005' >/dev/null
}

# times_held PID NODE
times_held() {
        local i held=0
        for ((i = 0; i < 100; i++)); do
                holds "$1" "$2" && held=$((held + 1))
        done
        echo "$held"
}

for unit in tidb-4000 tidb-4001 tidb-4002 tidb-4003; do
        pid=$(main_pid "$unit")
        held=$(times_held "$pid" 2)
        echo "$unit: $held of 100 samples hold the share of node 2"
        check "$unit: at least 93 of 100 samples hold the truth" test "$held" -ge 93
        exact=$(tidbnumactl locality "$pid" --exact --json | jq '[.nodes[] | .anon_bytes + .file_bytes + .shmem_bytes + .huge_bytes] | add')
        maps=$(awk '{ size = 4; pages = 0; for (i = 1; i <= NF; i++) { if ($i ~ /^N[0-9]+=/) pages += substr($i, index($i, "=") + 1); if ($i ~ /^kernelpagesize_kB=/) size = substr($i, 19) } sum += pages * size * 1024 } END { printf "%d\n", sum }' "/proc/$pid/numa_maps")
        echo "$unit: exact $exact, numa_maps $maps"
        check "$unit: --exact is numa_maps, to 1 MiB" test $((exact > maps ? exact - maps : maps - exact)) -le 1048576
done
check 'bars for people' bash -c "tidbnumactl locality $(main_pid tidb-4001) | grep -qE '^2 +#{17,19}\.+ +7[0-9]\.'"

# Not alone in its group, and not in a service: it gets a scope, and what lies where is sampled.
policy scoped <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb}
    place: {nodes: 2}
    memory: preferred
sampling: {interval: 1s}
EOT
systemctl stop tidb-4000 tidb-4002 tidb-4003
systemd-run --quiet --scope --collect --unit=login --slice=user-77.slice \
        setpriv --reuid=tidb --regid=tidb --init-groups /tidb-deploy/tidb-4000/scripts/run_tidb.sh </dev/null &>/dev/null 3>&- &
wait_until 120 'the server listens' listens 4000
systemctl reload tidbnumad

sampled() {
        tidbnumactl status --json | jq -e '.instances[] | select(.memory_method == "sampled" and .remote_memory_ratio_halfwidth != null)'
}
wait_until 120 'the instance in a scope is sampled' sampled
check 'its duration is counted' bash -c "grep -q '^tidbnumad_sample_duration_seconds_count{method=\"sampled\"}' /run/tidbnumad/metrics.prom"

# --- the metrics of nodes are those of the kernel --------------------------------------------------------------------------

for node in {0..7}; do
        total=$(awk '/MemTotal:/ { printf "%d\n", $4 * 1024 }' "/sys/devices/system/node/node$node/meminfo")
        is "$(metric tidbnumad_node_memory_bytes "node=\"$node\",state=\"total\"")" "$total" "node $node has the memory that the kernel says"
done
scrape /metrics >"$ARTIFACTS/metrics.prom"
check 'promtool has nothing to say' bash -c "promtool check metrics <'$ARTIFACTS/metrics.prom'"
plan
