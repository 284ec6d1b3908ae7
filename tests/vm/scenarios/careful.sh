# shellcheck shell=bash
# about: what must not be bound is not, with the reason told; what hides from the mover is found all the same
# in turn: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# --- more than the node holds: 450 MiB for a node of 384 ------------------------------------------------------------

workload_unit tikv 20160 tikv-server - --anon 450M --spread --threads 3

# --- a unit that holds two servers, of which a policy names one -----------------------------------------------------

workload_unit pd 2379 pd-server - --anon 16M --spread
cp "$vm_payload/bin/workload" /tidb-deploy/pd-2379/bin/other-server
sed -i 's#^exec #bin/other-server --anon 16M --spread --port 2380 \&\nsetsid -f bin/other-server --port 2381\nexec #' \
        /tidb-deploy/pd-2379/scripts/run_pd.sh

# --- NUMA balancing has marked its pages, and nobody touches them any more: move_pages(2) does not see such pages ----

echo 1 >/proc/sys/kernel/numa_balancing
mount -t debugfs none /sys/kernel/debug 2>/dev/null || true
balancing=/sys/kernel/debug/sched/numa_balancing
if [[ -d $balancing ]]; then
        echo 100 >$balancing/scan_delay_ms
        echo 100 >$balancing/scan_period_min_ms
        echo 200 >$balancing/scan_period_max_ms
fi
workload_unit tidb 4000 tidb-server - --anon 64M --spread --threads 3 --stall-report
workload_start tikv-20160 pd-2379 tidb-4000
wait_until 60 'the neighbours listen' listens 2381
server=$(main_pid tidb-4000)
# Page faults by hinting are counted for the whole machine.
hinted() {
        awk '/^numa_pte_updates/ { exit !($2 > 2000) }' /proc/vmstat
}
wait_until 60 'the balancer marks pages' hinted
grep ^numa /proc/vmstat
kill -STOP "$server"

policy careful <<'EOT'
version: 1
policies:
  - {name: tikv, match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}, place: {nodes: 3}, memory: bind}
  - {name: pd, match: {exe: pd-server, user: tidb, unit: "pd-*.service"}, place: {nodes: 4}, memory: bind}
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 5}, memory: bind}
sampling: {interval: 2s}
EOT
install_package
# What the daemon goes by.
awk '/^Node/ { ours = $2 == "3," } ours && $1 ~ /^(free|boost|min|low|high|managed)$/' /proc/zoneinfo
grep -E 'MemTotal|MemFree|Inactive.file' /sys/devices/system/node/node3/meminfo

wait_until 120 'a strict binding that does not fit is not made' state_is tikv-20160 partly
is "$(kview threads tikv-20160.service --unique)" "cpus=3 mems=0-7" 'its CPUs are bound, its memory is not'
mostly_home() {
        kview anon tikv-20160.service --json | tee /dev/stderr | jq -e '.["3"] > 140 * 1048576'
}
check 'as much as fits was brought home' mostly_home
is "$(systemctl show -P NRestarts tikv-20160)" 0 'and it was not killed'
ok 'a strict binding that does not fit is not made, and the reason told'

wait_until 60 'a unit with a stranger in it is bound by affinity' state_is pd-2379 partly 'treated as preferred'
is "$(systemctl show -P AllowedCPUs -P AllowedMemoryNodes pd-2379.service)" '' 'a unit with a stranger in it is left alone'
# cpus_of PROGRAM: of its processes, as the kernel has them
cpus_of() {
        local exe
        for exe in /proc/[0-9]*/exe; do
                [[ $(readlink "$exe") != */"$1" ]] || sed -n 's/^Cpus_allowed_list:\t//p' "${exe%exe}"task/*/status
        done | sort -u
}
is "$(cpus_of pd-server)" 4 'the server alone has its CPUs'
is "$(cpus_of other-server)" 0-7 'and the strangers have theirs'

wait_until 90 'marked pages of a process that does not run are moved too' all_on tidb-4000.service 5
ok 'marked pages of a process that does not run are moved too'
kill -CONT "$server"
is "$(main_pid tidb-4000)" "$server" 'it is still the same process'
check 'no process was killed for want of memory' nobody_was_killed
plan
