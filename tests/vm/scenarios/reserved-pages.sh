# shellcheck shell=bash
# about: huge pages that the host has reserved, private and shared: --exact tells them apart, samples have them with anonymous memory, groups do not count them, and they are moved
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# The one would move pages, the other make huge pages of a few small ones.
echo 0 >/proc/sys/kernel/numa_balancing
echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/defrag

# reserve NODE PAGES
reserve() {
        echo "$2" >"/sys/devices/system/node/node$1/hugepages/hugepages-2048kB/nr_hugepages"
}
trap 'systemctl stop "${units[@]/%/.service}"; reserve 2 0; reserve 7 0; reserve 3 0' EXIT
units=(tidb-4000 tidb-4001)
reserve 2 24
reserve 7 8

# 32 MiB of each kind: three quarters on node 2, one on node 7.
workload_unit tidb 4000 tidb-server - --anon 16M --reserved 32M --spread=2:3,7:1
workload_unit tidb 4001 tidb-server - --anon 16M --reserved-shared 32M --spread=2:3,7:1
workload_start "${units[@]}"
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready

# of_status UNIT KEY: bytes, by the kernel
of_status() {
        awk -v key="$2:" '$1 == key { print $2 * 1024 }' "/proc/$(main_pid "$1")/status"
}
# reserved UNIT: pages by node, by numa_maps
reserved() {
        awk '/ huge / { for (i = 1; i <= NF; i++) if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), at, "="); pages[at[1]] += at[2] } }
                END { for (node in pages) print "node " node ": " pages[node] }' "/proc/$(main_pid "$1")/numa_maps" | sort | xargs
}
# bytes FIELD <LOCALITY: of all nodes
bytes() {
        jq --arg field "$1" '[.nodes[][$field]] | add'
}
near() { # BYTES BYTES: to a MiB
        echo "$1, $2"
        (($1 - $2 < 1048576 && $2 - $1 < 1048576))
}
counted() {
        awk '$1 == "anon" || $1 == "shmem" || $1 == "file" { for (i = 2; i <= NF; i++) { split($i, at, "="); sum += at[2] } }
                END { print sum + 0 }' "$(group_of "$1")/memory.numa_stat"
}

for unit in "${units[@]}"; do
        is "$(reserved "$unit")" 'node 2: 12 node 7: 4' "$unit: its reserved pages lie as asked for"
        exact=$(tidbnumactl locality "$(main_pid "$unit")" --exact --json)
        sample=$(tidbnumactl locality "$(main_pid "$unit")" --json)
        is "$(jq -c '[.nodes[] | select(.huge_bytes > 0) | {(.node | tostring): .huge_bytes}] | add' <<<"$exact")" \
                "{\"2\":$((24 << 20)),\"7\":$((8 << 20))}" "$unit: --exact tells them, by node"
        is "$(bytes huge_bytes <<<"$sample")" 0 "$unit: a sample does not"
        check "$unit: it has them with anonymous memory" near "$(bytes anon_bytes <<<"$sample")" \
                $(($(of_status "$unit" RssAnon) + $(of_status "$unit" HugetlbPages)))
        check "$unit: its control group counts none of them" test "$(counted "$unit")" -lt $((20 << 20))
done

policy reserved <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: 3}, memory: bind}
sampling: {interval: 2s}
EOT
systemctl reload tidbnumad
for unit in "${units[@]}"; do
        wait_until 120 "$unit is bound" state_is "$unit" bound
        is "$(reserved "$unit")" 'node 3: 16' "$unit: bound to node 3, its reserved pages are there as well"
        is "$(metric tidbnumad_migration_failed_pages_total "name=\"$unit\"")" 0 "$unit: the kernel refused none"
        is "$(metric tidbnumad_instance_remote_memory_ratio "name=\"$unit\"")" 0 "$unit: nothing of it is remote"
done
plan
