# shellcheck shell=bash
# about: CPUs that go offline and come back: what is bound follows, moves away from a node without any, and comes back
# long machines: epyc8 epyc8-cgroup1
# timeout: 700

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# switch CPU 0|1
switch() {
        echo "$2" >"/sys/devices/system/cpu/cpu$1/online"
        echo "online: $(</sys/devices/system/cpu/online)"
}

# cpus_of UNIT: what its threads may use of the CPUs that are online, by the kernel
cpus_of() {
        kview threads "$1.service" --unique | sed -E 's/^cpus=([^ ]*) .*/\1/'
}

cpus_are() {
        local now
        now=$(cpus_of "$1")
        echo "$1 has CPUs '$now'"
        [[ $now == "$2" ]]
}

# daemon_has UNIT STATE CPUS [REASON]
daemon_has() {
        scrape /status | jq -e --arg name "$1" --arg state "$2" --arg cpus "$3" --arg reason "${4:-}" '.instances[] |
                select(.name == $name) | (.state + " " + .cpus + ": " + .reason | stderr) |
                startswith($state + " " + $cpus + ":") and contains($reason)'
}

workload_unit tidb 4000 tidb-server - --anon 24M --spread --threads 4
workload_unit tikv 20160 tikv-server - --anon 24M --spread --threads 4
workload_start tidb-4000 tikv-20160
policy hotplug <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 5-6}, memory: preferred}
  - {name: tikv, match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}, place: {nodes: 2-3, count: 1}, memory: bind}
sampling: {interval: 2s}
EOT
install_package
wait_until 120 'tidb is bound' daemon_has tidb-4000 bound 5-6
wait_until 120 'tikv is bound' daemon_has tikv-20160 bound 2
check 'both are bound, by the kernel' cpus_are tidb-4000 5-6
check 'both are bound, by the kernel' all_on tikv-20160.service 2
is "$(journalctl -q -u tidbnumad | grep -c 'No events from udev' || true)" 0 'udev tells of CPUs'
cursor=$(journal_cursor)

# The times of the nodes, one a line; and whether all are there and none is less than it was.
cpu_seconds() {
        scrape | sed -nE 's/^tidbnumad_node_cpu_seconds_total(\{[^}]*\}) (.*)/\1 \2/p' | sort
}
none_stepped_back() {
        join <(echo "$seconds") <(cpu_seconds) | awk '$3 < $2 { print; back = 1 } END { exit back || NR != 56 }'
}

# --- one of two --------------------------------------------------------------------------------------------------------------

seconds=$(cpu_seconds)
switch 5 0
wait_until 60 'one CPU less is noticed' daemon_has tidb-4000 bound 6
ok 'one CPU less is noticed'
check 'and is what the kernel shows' cpus_are tidb-4000 6
said() {
        daemon_said "$cursor" | grep -q "CPUs $1 are online now, 0-7 were before"
}
wait_until 30 'it is told' said 0-4,6-7
ok 'and told'
daemon_looks
check 'the times of its node do not step back' none_stepped_back
seconds=$(cpu_seconds)
switch 5 1
wait_until 60 'a CPU that comes back is used again' cpus_are tidb-4000 5-6
ok 'a CPU that comes back is used again'
wait_until 60 'and the daemon knows' daemon_has tidb-4000 bound 5-6
daemon_looks
check 'nor then' none_stepped_back

# --- all of its node ----------------------------------------------------------------------------------------------------------

switch 2 0
wait_until 120 'who has no CPU left is bound elsewhere' daemon_has tikv-20160 bound 3
ok 'who has no CPU left is bound elsewhere'
check 'with its memory, by the kernel' all_on tikv-20160.service 3
check 'held there' held_to tikv-20160.service 3
switch 2 1
daemon_looks
daemon_looks
check 'and stays there when the CPU is back' cpus_are tikv-20160 3
wait_until 30 'bound' daemon_has tikv-20160 bound 3

# --- all of the nodes that are named ---------------------------------------------------------------------------------------------

switch 5 0
switch 6 0
wait_until 60 'without a CPU on the nodes that the policy names it is left alone' daemon_has tidb-4000 watched '' 'no online CPU'
ok 'without a CPU on the nodes that the policy names it is left alone, and told why'
check 'the kernel lets it run elsewhere meanwhile' test -n "$(cpus_of tidb-4000)"
switch 6 1
wait_until 60 'it is bound to the first that comes back' daemon_has tidb-4000 bound 6
switch 5 1
wait_until 60 'and to both' daemon_has tidb-4000 bound 5-6
check 'by the kernel' cpus_are tidb-4000 5-6
ok 'bound again, as its CPUs come back'
is "$(daemon_said "$cursor" 4 | grep -c 'keeps changing' || true)" 0 'nothing of it is taken for somebody who changes its CPUs'
plan
