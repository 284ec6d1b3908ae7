# shellcheck shell=bash
# about: a cpuset partition that takes the CPUs of bound instances moves them or unbinds them, and is named
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

part=/sys/fs/cgroup/part
undo() {
        [[ ! -d $part ]] || echo member >$part/cpuset.cpus.partition
        [[ ! -d $part ]] || rmdir $part
        true
}
trap undo EXIT

workload_unit tidb 4000 tidb-server - --anon 24M --threads 4
workload_unit tidb 4001 tidb-server - --anon 24M --threads 4
workload_start tidb-4000
workload_start tidb-4001
policy partition <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 1-2, count: 1}
    memory: bind
    instances: [{match: {unit: tidb-4001.service}, nodes: 1}]
sampling: {interval: 2s}
EOT
install_package

# has UNIT CPUS MEMS: in the kernel's files of each thread
has() {
        local found
        found=$(sed -nE 's/^(Cpus|Mems)_allowed_list:\s*//p' /proc/"$(main_pid "$1")"/task/*/status | paste -d' ' - - | sort -u | paste -sd';')
        echo "$1 has $found"
        [[ $found == "$2 $3" ]]
}
wait_until 120 'tidb-4001 is bound to node 1' has tidb-4001 1 1
home=$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(main_pid tidb-4000)/status")
settled() {
        { tidbnumactl status --json tidb-4000 || true; } | jq -e '.instances[0].state == "bound"'
}
wait_until 120 'tidb-4000 is bound' settled
home=$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(main_pid tidb-4000)/status")
ok "both are bound, tidb-4000 to node $home"

# take CPU: as somebody does who wants it alone
take() {
        [[ -d $part ]] || mkdir $part
        echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
        echo "$1" >$part/cpuset.cpus
        echo root >$part/cpuset.cpus.partition
        [[ $(<$part/cpuset.cpus.partition) == root ]]
}
check 'a partition takes the CPU of node 1' take 1
gone() {
        ! grep -q . <<<"$(systemctl show -P AllowedMemoryNodes tidb-4001)" && has tidb-4001 0,2-7 0-7
}
wait_until 90 'what its policy holds on node 1 is unbound: its memory is not kept from where it runs' gone
ok 'what its policy holds on node 1 is unbound: its memory is not kept from where it runs'
told() {
        { tidbnumactl status tidb-4001 || true; } | grep -F 'a cpuset partition has taken the CPUs of its nodes'
}
wait_until 60 'status says why' told
ok 'status says why'
tidbnumactl check --json >/tmp/check || true
is "$(jq -r '[.findings[] | select(.rule == "lost-cpus") | .where] | join(" ")' /tmp/check)" /sys/fs/cgroup/part/cpuset.cpus.partition \
        'check names the partition'
is "$({ tidbnumactl plan --json || true; } | jq -r '.instances[] | select(.name == "tidb-4001") | .refusal')" taken 'plan says the same'

echo member >$part/cpuset.cpus.partition
wait_until 120 'without the partition it is bound again' has tidb-4001 1 1
ok 'without the partition it is bound again'

other=$((3 - home))
check "a partition takes the CPU of node $home" take "$home"
wait_until 120 "what may choose moves to node $other" has tidb-4000 "$other" "$other"
ok 'what may choose moves to the other node'
moved() {
        awk -v node="N$other=" '/^anon / { for (i = 2; i <= NF; i++) if (substr($i, 1, 3) == substr(node, 1, 3)) print substr($i, 4) }' \
                "/sys/fs/cgroup/system.slice/tidb-4000.service/memory.numa_stat" | awk '{ exit !($1 > 20 * 1048576) }'
}
wait_until 120 'with its memory' moved
ok 'with its memory'
plan
