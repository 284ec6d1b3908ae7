# shellcheck shell=bash
# about: what the mover moves: base pages, huge pages, shared memory, and no files; at once by migrate: kernel; through a restart
# long machines: epyc8 epyc8-trixie
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

move_policy() {
        policy move <<EOT
version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, user: tidb}
    place: {nodes: 3}
    memory: preferred
    migrate: $1
    rate: ${2:-256MiB/s}
sampling: {interval: 2s}
EOT
        systemctl reload tidbnumad
}
# Before a unit is started again: it keeps what was set on it, and would not be spread over all nodes.
give_back() {
        drop_policy move
        wait_until 60 'its CPUs are given back' cpus_open "$1"
        systemctl stop "$1.service"
}
# remote UNIT KIND: MiB on other nodes than 3, by the kernel's counters
remote() {
        kview numa-stat "$1.service" --json | jq --arg kind "$2" '.[$kind] | del(.["3"]) | [.[]] | add / 1048576 | round'
}
huge_kib() {
        awk '/^AnonHugePages:/ { print $2 }' "/proc/$(main_pid "$1")/smaps_rollup"
}
home() {
        [[ $(kview anon "$1.service" --json | tee /dev/stderr | jq -c keys) == '["3"]' ]]
}
follows() {
        local kind
        for kind in "${@:2}"; do
                echo "$kind: $(remote "$1" "$kind") MiB elsewhere"
                (($(remote "$1" "$kind") <= 2)) || return 1
        done
}
lines() {
        daemon_said "$1" | grep -cE "$2" || true
}

install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
drop_policy move

# --- every kind of memory -----------------------------------------------------------------------------------------------

workload_unit tikv 20160 tikv-server - --anon 48M --huge 48M --shmem 48M --file 48M --spread --threads 3
echo always >/sys/kernel/mm/transparent_hugepage/enabled
# smaps does not count huge pages that NUMA balancing has marked: follow_trans_huge_pmd() with FOLL_DUMP.
echo 0 >/proc/sys/kernel/numa_balancing
workload_start tikv-20160
huge=$(huge_kib tikv-20160)
check "it has huge pages ($huge KiB)" test "$huge" -gt 16384
for kind in anon shmem file_mapped; do
        check "its memory is spread before: $kind" test "$(remote tikv-20160 $kind)" -gt 24
done
# A library that others map as well.
libc_pages() {
        awk '/libc\.so/ { for (i = 3; i <= NF; i++) if ($i ~ /^N3=/) n += substr($i, 4) } END { print n + 0 }' /proc/1/numa_maps
}
libc=$(libc_pages)
cursor=$(journal_cursor)
move_policy gentle
wait_until 120 'tikv-20160 is bound' state_is tikv-20160 bound
check 'every anonymous byte is on node 3' home tikv-20160
wait_until 60 'shared memory followed' follows tikv-20160 anon shmem
ok 'and shared memory, by memory.numa_stat'
check 'the file that it maps stays in the page cache where it was' test "$(remote tikv-20160 file_mapped)" -gt 24
check 'huge pages were moved whole' test "$(huge_kib tikv-20160)" -ge $((huge * 3 / 4))
check 'the library that others map too was not dragged there' test "$(libc_pages)" -le $((libc + 16))
is "$(lines "$cursor" '^tikv-20160: moving .* MiB to node 3')" 1 'one line when it begins'
is "$(lines "$cursor" 'tikv-20160 is bound to node 3 .* tidbnumad moved .* MiB')" 1 'one line at its end'
is "$(metric tidbnumad_migration_left_seconds 'name="tikv-20160"')" 0 'nothing is left'
is "$(metric tidbnumad_migration_rate_bytes_per_second 'name="tikv-20160"')" 0 'and nothing is being moved'
give_back tikv-20160

# --- progress, a pause, a restart ---------------------------------------------------------------------------------------

drop_policy move
workload_unit tikv 20161 tikv-server - --anon 120M --spread --threads 3
workload_start tikv-20161
move_policy gentle 1MiB/s
tikv='name="tikv-20161"'
shows_progress() {
        scrape /status | jq -e '.instances[] | select(.name == "tikv-20161") | .state == "moving" and
                .migration_left_seconds > 1 and .migration_bytes_per_second > 0 and
                .migration_bytes_per_second <= 1048576 and .pending_bytes > 0'
}
wait_until 60 'status shows rate and time left' shows_progress
ok 'status shows rate and time left'
pending=$(metric tidbnumad_migration_pending_bytes "$tikv")
gone_down() {
        (($(metric tidbnumad_migration_pending_bytes "$tikv") < pending - 2097152))
}
wait_until 60 'what is pending goes down' gone_down
ok 'what is pending goes down while it is moved'
systemctl restart tidbnumad
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
check 'some lies elsewhere still' test "$(remote tikv-20161 anon)" -gt 8
move_policy gentle
wait_until 120 'after its restart the rest is moved' home tikv-20161
ok 'after a restart of the daemon the rest is moved'
give_back tikv-20161

# --- at once ------------------------------------------------------------------------------------------------------------

drop_policy move
workload_start tikv-20161
cursor=$(journal_cursor)
move_policy kernel
wait_until 120 'migrate: kernel moves it' home tikv-20161
ok 'migrate: kernel moves every anonymous byte'
wait_until 60 'and it is bound' state_is tikv-20161 bound
is "$(lines "$cursor" 'policies\[\].migrate')" 0 'no warning of it'
give_back tikv-20161

# --- its end in the middle ----------------------------------------------------------------------------------------------

drop_policy move
workload_start tikv-20161
move_policy gentle 1MiB/s
wait_until 60 'it is being moved' shows_progress
before=$(main_pid tikv-20161)
systemctl restart tikv-20161.service
wait_until 120 'the new one listens' listens 20161
check 'it is another process' test "$(main_pid tikv-20161)" != "$before"
move_policy gentle
wait_until 120 'and the new one comes home' home tikv-20161
ok 'a process that ends in the middle leaves nothing behind: the next one comes home'
is "$(daemon_said "$cursor" 4 | grep -c tikv-20161 || true)" 0 'no warning of any of it'
plan
