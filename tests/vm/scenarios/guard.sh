# shellcheck shell=bash
# about: a strict binding is widened before its node is full, nobody is killed, and it is narrowed again
# in turn: epyc8
# long machines: epyc8-cgroup1
# timeout: 3600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

rounds=1
[[ -z ${long:-} ]] || rounds=20

trap 'rm -f /var/tmp/guard-cache; systemctl stop neighbour.service "tikv-2016*" 2>/dev/null || true' EXIT

guard_policy() {
        policy guard <<EOT
version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {nodes: 3}
    memory: bind
    on_full: $1
sampling: {interval: 2s}
EOT
}

tikv='name="tikv-20160"'
bound() {
        metric_is 1 tidbnumad_instance_bound "$1.*kind=\"memory\""
}
state() {
        scrape /status | jq -r --arg name "$1" '.instances[] | select(.name == $name) | .state + ": " + .reason'
}
# node NAME FIELD: in MiB
node() {
        awk -v field="$2:" '$3 == field { print int($4 / 1024) }' "/sys/devices/system/node/node$1/meminfo"
}
mems_of() {
        kview threads "$1.service" --unique | sed -n 's/.*mems=//p'
}
# Each node's memory: for who reads why a node was taken.
rooms() {
        grep -hE 'MemFree|FilePages|AnonPages|Shmem:' /sys/devices/system/node/node*/meminfo | paste -d' ' - - - -
}
is_wide() {
        [[ $(mems_of tikv-20160) != 3 ]]
}
has_grown() {
        kview anon tikv-20160.service --json | tee /dev/stderr | jq -e '([.[]] | add) > 600 * 1048576'
}
neighbour_ended() {
        systemctl show -p Result -p ExecMainCode -p ExecMainStatus neighbour | paste -sd' '
}
# What came last stays, and lies on the other nodes.
has_shrunk() {
        kview anon tikv-20160.service --json | tee /dev/stderr | jq -e '([.[]] | add) < 200 * 1048576 and .["3"] < 64 * 1048576'
}
turn() {
        systemctl kill --signal=USR2 "$1.service"
}
# --- a neighbour whom the kernel would take first: unbound, and the largest ------------------------------------------

systemd-run --quiet --unit=neighbour.service "$vm_payload/bin/workload" --anon 250M --spread=6:1 --port 6666
wait_until 60 'the neighbour listens' listens 6666
neighbour=$(main_pid neighbour)

workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --stall-report --grow 25M:600M
workload_unit tikv 20161 tikv-server - --anon 16M --threads 3
guard_policy widen
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
check "the daemon's memory is locked" \
        bash -c "awk '/^VmLck/ { exit !(\$2 > 0) }' /proc/$(main_pid tidbnumad)/status"
grep -E '^Vm(RSS|Lck|HWM)' "/proc/$(main_pid tidbnumad)/status"
workload_start tikv-20160 tikv-20161
wait_until 90 'tikv-20160 is bound' bound "$tikv"
wait_until 90 'tikv-20161 is bound' bound 'name="tikv-20161"'
is "$(mems_of tikv-20160)" 3 'it may use memory of node 3 only'

# --- a start that ends -------------------------------------------------------------------------------------------------

# At the rate of its first seconds the node would be full in some five more; it ends, and leaves more free than it has taken.
workload_unit tikv 20162 tikv-server - --anon 4M --threads 1 --grow 32M:60M
workload_start tikv-20162
wait_until 90 'tikv-20162 is bound' bound 'name="tikv-20162"'
rooms
turn tikv-20162
has_started() {
        kview anon tikv-20162.service --json | tee /dev/stderr | jq -e '.["3"] > 56 * 1048576'
}
wait_until 120 'it has taken 60 MiB of node 3' has_started
daemon_looks
daemon_looks
rooms
is "$(metric tidbnumad_memory_widenings_total 'name="tikv-20162"')" 0 'a start that ends is no danger'
is "$(mems_of tikv-20162)" 3 'and its binding stays strict'
systemctl stop tikv-20162

# --- page cache --------------------------------------------------------------------------------------------------------

# What every database host looks like: hardly anything free, all of it clean cache. It is read thrice, so that the kernel
# takes it for used; what is read is a hole, which is no work for the disk.
truncate -s 400M /var/tmp/guard-cache
for _ in 1 2 3; do
        taskset -c "$(<"/sys/devices/system/node/node3/cpulist")" cat /var/tmp/guard-cache >/dev/null
done
grep -E 'MemTotal|MemFree|file\)|Dirty' /sys/devices/system/node/node3/meminfo
free=$(node 3 MemFree)
check "node 3 is full of cache ($free MiB are free)" test "$free" -lt 60
daemon_looks
daemon_looks
is "$(metric tidbnumad_memory_widenings_total "$tikv")" 0 'a node full of page cache is not full'
is "$(mems_of tikv-20160)" 3 'and the binding stays strict'
rm /var/tmp/guard-cache

# --- 600 MiB for a node of 384 -----------------------------------------------------------------------------------------

cursor=$(journal_cursor)
for ((round = 1; round <= rounds; round++)); do
        turn tikv-20160
        wait_until 120 "round $round: the binding is widened" is_wide
        echo "round $round: $(node 3 MemFree) MiB are free on node 3 when it is wide ($(mems_of tikv-20160))"
        rooms
        wait_until 180 "round $round: all 600 MiB are there" has_grown
        stalls=$(stall_report tikv-20160)
        longest=$(stall_longest "$stalls")
        echo "round $round: $stalls"
        check "round $round: no touch took as long as 2 s ($longest us)" test "$longest" -lt 2000000
        check "round $round: nobody was killed" nobody_was_killed
        rooms
        mems=$(mems_of tikv-20160)
        check "round $round: it was given near nodes ($mems)" grep -qE '^[0-3]([-,][0-3])*$' <<<"$mems"
        check "round $round: and so was its neighbour on the node ($(mems_of tikv-20161))" test "$(mems_of tikv-20161)" != 3
        if ((round == 1)); then
                metric_is 1 tidbnumad_memory_widened "$tikv"
                is "$(state tikv-20160 | cut -d: -f1)" widened 'status.json says so'
                is "$(systemctl show -P AllowedMemoryNodes tikv-20160)" "$(is_cgroup_v1 || echo "${mems//,/ }")" 'systemd knows'
                scrape /status | jq '.instances[] | del(.memory_by_node)'
                artifact /run/tidbnumad/status.json
        fi
        is "$(main_pid neighbour)" "$neighbour" "round $round: a neighbour on another node was left in peace ($(neighbour_ended))"
        turn tikv-20160
        wait_until 60 "round $round: it gives three quarters back" has_shrunk
        if ((round == 1 || round == rounds)); then
                wait_until 300 "round $round: it is narrowed again" held_to tikv-20160.service 3
                wait_until 60 "round $round: and bound" bound "$tikv"
                wait_until 180 "round $round: the other too" held_to tikv-20161.service 3
                scrape | grep -E '^tidbnumad_(migrat|memory|bind)' || true
                is "$(metric tidbnumad_memory_widened "$tikv")" 0 "round $round: it is narrowed again after a minute of room"
                check "round $round: what lay on other nodes was pulled back to node 3" all_on tikv-20160.service 3
        fi
        # The way back takes a minute's rest: not each time. And what was pulled back would not be on other nodes again.
        if ((round < rounds)); then
                systemctl restart tikv-20160
                wait_until 60 'it listens again' listens 20160
                wait_until 120 "round $round: a fresh process is bound" bound "$tikv"
        fi
done
said() {
        journalctl -q --after-cursor="$cursor" -o json | jq -e --arg id "$1" --arg name "$2" -s 'map(select(
                .MESSAGE_ID == $id and .TIDBNUMAD_INSTANCE == $name and .TIDBNUMAD_POLICY == "tikv")) | length' | tee /dev/stderr
}
daemon_said "$cursor"
check 'the journal tells of each widening' test "$(said 3d0f5a7c9b1e4c62a8f4d6b2e7c19a88 tikv-20160)" -ge "$rounds"
check 'and of it for the neighbour on the node' test "$(said 3d0f5a7c9b1e4c62a8f4d6b2e7c19a88 tikv-20161)" -ge 1
is "$(systemctl show -P NRestarts tikv-20160)" 0 'no process was started again by systemd'
check 'and nobody was killed to the end' nobody_was_killed
is "$(main_pid neighbour)" "$neighbour" "a neighbour on another node was left in peace ($(neighbour_ended))"
journalctl -q -u neighbour

# What takes many minutes more is for the long run.
[[ -n ${long:-} ]] || { plan; exit; }

# --- at full speed: nothing can be foreseen, the next reading finds the node full ---------------------------------------

systemctl stop tikv-20160
workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --stall-report --grow 2000M:600M
workload_start tikv-20160
wait_until 120 'tikv-20160 is bound' bound "$tikv"
turn tikv-20160
wait_until 180 'all 600 MiB are there' has_grown
stalls=$(stall_report tikv-20160)
longest=$(stall_longest "$stalls")
echo "at full speed: $stalls"
check "at full speed no touch took as long as 8 s ($longest us)" test "$longest" -lt 8000000
check 'and nobody was killed' nobody_was_killed
systemctl stop tikv-20160

# --- on_full: keep: the same ends as it does without a guard -------------------------------------------------------------

guard_policy keep
systemctl reload tidbnumad
workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --grow 25M:600M
workload_start tikv-20160
wait_until 120 'tikv-20160 is bound' bound "$tikv"
cursor=$(journal_cursor)
turn tikv-20160
was_told() {
        (($(said 4e8b2c6d1f3a4d57b9e05c7a8d2f6b99 tikv-20160) == 1))
}
wait_until 120 'a full node is told' was_told
is "$(mems_of tikv-20160)" 3 'on_full: keep: told, and nothing else'
state tikv-20160
somebody_killed() { ! nobody_was_killed; }
wait_until 400 'the kernel kills' somebody_killed
dmesg | grep -iE 'oom-kill:|out of memory'
check 'it kills although the host has memory, for the cpuset has none' bash -c 'dmesg | grep -q CONSTRAINT_CPUSET'
plan
