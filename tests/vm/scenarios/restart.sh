# shellcheck shell=bash
# about: units that start later, restart and make threads all the time are bound, and bound again
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

demo_policy
install_package
daemon=$(main_pid tidbnumad)

# Through bash, numactl without a binding, env and the server on one PID: only the last of them is a tidb-server.
workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 10 --churn 50
workload_start tidb-4000
first=$(main_pid tidb-4000)
wait_until 90 'a unit that starts under the daemon is bound' all_on tidb-4000.service 0
ok 'a unit that starts under the daemon is bound'
threads=$(awk '/^Threads/ { print $2 }' "/proc/$first/status")
check 'it has threads that were made since' test "$threads" -gt 5

# New threads inherit; look at many generations of them.
for _ in 1 2 3; do
        check 'threads made since have its CPUs too' all_on tidb-4000.service 0
done

systemctl restart tidb-4000
wait_until 60 'it listens again' listens 4000
second=$(main_pid tidb-4000)
check 'the restart made another process' test "$second" != "$first"
wait_until 90 'a restarted unit is bound again' all_on tidb-4000.service 0
ok 'a restarted unit is bound again'

kill -KILL "$second"
killed() {
        local pid
        pid=$(main_pid tidb-4000)
        [[ $pid != 0 && $pid != "$second" ]] && listens 4000
}
wait_until 60 'systemd starts the killed one again' killed
wait_until 90 'a unit that was killed is bound again' all_on tidb-4000.service 0
ok 'a unit that was killed is bound again'

# The daemon itself, once it has verified this: what it was still moving, the next one would go on moving.
wait_until 90 'and the daemon has seen that' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"'
cursor=$(journal_cursor)
systemctl restart tidbnumad
wait_until 60 'the daemon is up again' metric_is 1 tidbnumad_ready
check 'a restart of the daemon leaves the binding as it is' all_on tidb-4000.service 0
check 'the daemon is another process' test "$(main_pid tidbnumad)" != "$daemon"
wait_until 60 'it finds what is bound' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"'
is "$(metric tidbnumad_migrated_bytes_total 'name="tidb-4000"')" 0 'and moves nothing'
check 'one line counts what was bound already' grep -q '1 instance was bound already when tidbnumad started' <(daemon_said "$cursor" 6)
is "$(daemon_said "$cursor" 6 | grep -c 'is bound to')" 0 'and no line for each'

kill -KILL "$(main_pid tidbnumad)"
wait_until 60 'a killed daemon is started again by systemd' metric_is 1 tidbnumad_ready
wait_until 60 'and finds what is bound' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"'
ok 'a killed daemon comes back and finds what is bound'

systemctl stop tidb-4000
gone() {
        ! scrape /metrics | grep -q 'name="tidb-4000"'
}
wait_until 60 'an instance that ends takes its series with it' gone
ok 'an instance that ends takes its series with it'
plan
