# shellcheck shell=bash
# about: the test bed itself: the machine's shape, workloads laid out as TiUP does, memory where it was asked for
# in turn: epyc8
# long machines: nodes16 arm16 epyc8-bullseye epyc8-trixie
# timeout: 600
# Needs no tidbnumad.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

# --- the machine ---------------------------------------------------------------------------------------------------

last=$((VM_NODES - 1)) half=$((VM_NODES / VM_SOCKETS))
IFS=: read -r local_distance near far <<<"$VM_DISTANCES"

expected_row() {
        local to
        for ((to = 0; to < VM_NODES; to++)); do
                if ((to == $1)); then
                        printf '%s ' "$local_distance"
                elif ((to / half == $1 / half)); then
                        printf '%s ' "$near"
                else
                        printf '%s ' "$far"
                fi
        done
}

is "$(</sys/devices/system/node/online)" "0-$last" "$VM_NODES nodes"
is "$(</sys/devices/system/node/node0/distance) " "$(expected_row 0)" 'distances of the first node'
is "$(<"/sys/devices/system/node/node$last/distance") " "$(expected_row "$last")" 'distances of the last node'
is "$(nproc)" $((VM_NODES * VM_CPUS_PER_NODE)) 'all CPUs are there'

version=v2
[[ ! -d /sys/fs/cgroup/systemd ]] || version=v1
is "$version" "$VM_CGROUP" 'cgroup version'
# It complains of CPUs on two nodes that share a last-level cache, which no server has.
caches_keep_to_nodes() {
        local said
        said=$(journalctl -q -k -b -o cat)
        [[ $said == *'Linux version'* ]] && ! grep 'is not on the same node' <<<"$said"
}
check 'the kernel finds no cache that spans nodes' caches_keep_to_nodes

for disk in ${VM_NVME//,/ }; do
        IFS=: read -r name node _ <<<"$disk"
        is "$(lsblk -dno SERIAL "$(nvme_of_node "$node")")" "$name" "NVMe $name is on node $node"
done
for nic in ${VM_NIC//,/ }; do
        IFS=: read -r name node _ <<<"$nic"
        check "NIC $name is on node $node" nic_of_node "$node"
done
is "$(systemctl is-active irqbalance)" inactive 'irqbalance does not run unless a scenario starts it'
is "$(systemctl --failed --plain --no-legend | wc -l)" 0 'no unit failed'
is "$(</proc/sys/kernel/numa_balancing)" 1 'NUMA balancing is as it was after boot'

# --- what an earlier scenario may have left ------------------------------------------------------------------------

check 'no workload of another scenario' test ! -e /tidb-deploy
left_running() {
        local unit
        for unit in /run/systemd/transient/*.service; do
                unit=${unit##*/}
                [[ $unit == vm-scenario-* ]] || ! systemctl --quiet is-active "$unit" || echo "$unit"
        done
}
is "$(left_running)" '' 'no stranger of another scenario runs'
check 'no policy of another scenario' test ! -e /etc/tidbnumad.d
check 'no data disk of another scenario is mounted' bash -c '! grep -q ^/dev/nvme /proc/mounts'

# --- workloads -----------------------------------------------------------------------------------------------------

demo_host_up
for unit in "${demo_units[@]}"; do
        pid=$(main_pid "$unit")
        name=${unit%-*}
        is "$(kview unit-pids "$unit.service")" "$pid" "$unit is one process, bash and env are gone"
        is "$(<"/proc/$pid/comm") $(stat -c %U "/proc/$pid")" "$name-server tidb" "$unit runs $name-server as tidb"
        is "$(kview threads "$unit.service" --unique)" "cpus=0-$last mems=0-$last" "$unit may use all nodes"
done
check 'a tikv has its data on the disk of node 3' mountpoint -q /tidb-data/tikv-20160
check 'haproxy hands callers on to tidb' demo_answers
check 'haproxy runs in a unit of its own' kview unit-pids haproxy.service

# Each node holds its share of 96 MiB; a program's own few pages are the slack, and a thread's stack, of which the kernel may have
# made a huge page.
even_share() {
        kview anon "$1" --json | jq -e --argjson nodes "$VM_NODES" --argjson mib "$2" '($mib / $nodes) as $share |
                map_values(. / 1048576) | stderr | length == $nodes and all(.[]; . > 0.9 * $share and . < 1.15 * $share + 2)'
}
check "tidb-4000's memory lies evenly over all nodes" even_share tidb-4000.service 96
check "tikv-20161's memory lies evenly over all nodes" even_share tikv-20161.service 96
check "pd-2379's memory lies evenly over all nodes" even_share pd-2379.service 48

# agree UNIT PROCESSES: two ways to ask the kernel for the same: the maps of its processes and the cgroup's own counters. What a
# process shares with the one that forked it is in the maps of both.
agree() {
        local maps stat
        maps=$(kview anon "$1" --json | jq '[.[]] | add')
        stat=$(kview numa-stat "$1" --json | jq '[.anon[]] | add')
        echo "$1: maps $maps, memory.numa_stat $stat"
        jq -en "$maps > $stat * 0.95 and $maps < $stat * ($2 + 0.05)"
}
check "maps and memory.numa_stat of tidb-4001 agree" agree tidb-4001.service 1
# haproxy has shared memory too, and what v1 calls anon has that in it.
[[ $VM_CGROUP == v1 ]] || check "maps and memory.numa_stat of haproxy agree" agree haproxy.service "$(kview unit-pids haproxy.service | wc -w)"
demo_host_down

# --- a binding of TiUP's own ---------------------------------------------------------------------------------------

workload_unit tikv 20162 tikv-server 5 --anon 32M --huge 16M --shmem 8M --file 8M --threads 3 --churn 20
workload_start tikv-20162
is "$(kview unit-pids tikv-20162.service)" "$(main_pid tikv-20162)" 'through numactl it is still one process'
is "$(kview ratio tikv-20162.service --nodes 5)" 1.0000 'numactl --membind: all memory is on node 5'

workload_unit app 9000 app - --anon 64M --spread=2:3,7:1
workload_start app-9000
near_three_quarters() {
        kview ratio app-9000.service --nodes 2 --json | jq -e '.ratio > 0.72 and .ratio < 0.78'
}
check 'memory lies in the shares that were asked for' near_three_quarters

plan
