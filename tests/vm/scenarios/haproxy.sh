# shellcheck shell=bash
# about: haproxy's master and workers, old ones that still drain among them, are one instance and all on their node; so is what a master shares with its workers
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

# pids: those of the unit, by the kernel's own list
pids() {
        sort -n /sys/fs/cgroup/system.slice/haproxy.service/cgroup.procs
}

# has_processes NUMBER: so many in the unit, and in the one instance that the daemon shows for it
has_processes() {
        [[ $(pids | wc -l) == "$1" ]] &&
                jq -e --argjson n "$1" '[.instances[] | select(.exe | endswith("/haproxy"))] |
                        length == 1 and .[0].name == "haproxy" and .[0].processes == $n' /run/tidbnumad/status.json
}

# all_threads_on NODE: each thread of each process, read one by one
all_threads_on() {
        local cpus pid
        cpus=$(<"/sys/devices/system/node/node$1/cpulist")
        for pid in $(pids); do
                cat "/proc/$pid"/task/*/status
        done | awk -v cpus="$cpus" '/^Cpus_allowed_list/ { n++; bad += $2 != cpus } END { print n, bad; exit !(n > 0 && bad == 0) }'
}

# unit_is_bound UNIT: as the daemon reports it
unit_is_bound() {
        jq -e --arg unit "$1.service" '.instances[] | select(.unit == $unit) | .state == "bound"' /run/tidbnumad/status.json
}

workload_unit tidb 4000 tidb-server - --anon 8M
workload_unit tidb 4001 tidb-server - --anon 8M
workload_start tidb-4000 tidb-4001
demo_haproxy_up
sed -i 's/^\( *timeout client\) .*/\1 10m/; s/^\( *timeout server\) .*/\1 10m/' /etc/haproxy/haproxy.cfg
systemctl restart haproxy.service
wait_until 60 'haproxy answers' demo_answers
demo_policy
install_package
wait_until 90 'master and worker are one instance' has_processes 2
wait_until 90 'master and worker are on their node' all_threads_on 5
ok 'master and worker are one instance, on their node'

# A connection that stays holds the old worker over a reload.
exec {held}<>/dev/tcp/127.0.0.1/3390
read -r -t 30 greeting <&"$held"
old=$(pids | tail -n 1)
systemctl reload haproxy.service
wait_until 90 'the old worker drains beside the new one, in the same instance' has_processes 3
wait_until 90 'all three are on their node' all_threads_on 5
check 'the old worker is the one that drains' kill -0 "$old"
ok "a reload leaves an old worker ('${greeting%% *}' is held): one instance of three, on its node"

exec {held}>&-
wait_until 90 'the old worker has gone, and the instance is the same' has_processes 2
check 'the old worker has ended' test ! -d "/proc/$old"
check 'what is left is on its node' all_threads_on 5

# nbthread is what came after nbproc: threads of one worker.
sed -i 's/^global$/global\n        nbthread 4/' /etc/haproxy/haproxy.cfg
systemctl restart haproxy.service
wait_until 60 'haproxy answers again' demo_answers
wait_until 90 'with four threads it is one instance' has_processes 2
wait_until 90 'its four threads are on their node' all_threads_on 5
check 'it has the threads' test "$(find /proc/"$(pids | tail -n 1)"/task -mindepth 1 -maxdepth 1 | wc -l)" -ge 4

# The master of this release executes itself after the fork, that of releases before 2.5 does not: it and its workers
# share what neither has written to since. A stand-in for these; each of its workers has a huge page of its own as well.
cat >/usr/local/bin/master-worker <<'EOF'
import mmap, os, time
shared = mmap.mmap(-1, 24 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, 24 << 20, 4096):
        shared[at] = 1
for worker in range(2):
        if os.fork() == 0:
                own = bytearray(4 << 20)
                break
while True:
        for at in range(0, 24 << 20, 4096):
                shared[at]
        time.sleep(0.5)
EOF
python=$(readlink -f /usr/bin/python3)
for unit in forks-gentle forks-kernel; do
        printf '[Service]\nExecStart=%s -IS /usr/local/bin/master-worker\nCPUAffinity=2\n' "$python" >"/etc/systemd/system/$unit.service"
done
systemctl daemon-reload
systemctl start forks-gentle forks-kernel

# anonymous_off UNIT NODE: the anonymous pages of its processes that are elsewhere, by numa_maps; mappings of files, whose
# lines count the file's pages as well, are left to numa_stat (all_on)
anonymous_off() {
        local pid
        while read -r pid; do
                grep -h 'anon=' "/proc/$pid/numa_maps" | grep -v ' file='
        done <"/sys/fs/cgroup/system.slice/$1.service/cgroup.procs" |
                awk -v home="N$2" '{ for (i = 1; i <= NF; i++) if (split($i, w, "=") == 2 && w[1] ~ /^N[0-9]+$/ && w[1] != home) n += w[2] }
                        END { print n + 0 }'
}

# workers_are_up UNIT: two of them beside the master, and their shared memory is not on node 5 or 6
workers_are_up() {
        [[ $(wc -l <"/sys/fs/cgroup/system.slice/$1.service/cgroup.procs") == 3 ]] && (($(anonymous_off "$1" 5) >= 3 * 6144))
}

is_all_on() {
        [[ $(anonymous_off "$1" "$2") == 0 ]] && all_on "$1.service" "$2"
}

for unit in forks-gentle forks-kernel; do
        wait_until 90 "the master of $unit has its workers" workers_are_up "$unit"
done
policy forks <<EOF
version: 1
policies:
  - name: forks-gentle
    match: {exe: $python, unit: forks-gentle.service}
    place: {nodes: 5}
    memory: preferred
  - name: forks-kernel
    match: {exe: $python, unit: forks-kernel.service}
    place: {nodes: 6}
    memory: preferred
    migrate: kernel
EOF
systemctl reload tidbnumad
wait_until 120 'what was moved gently is on its node' is_all_on forks-gentle 5
wait_until 120 'what the kernel moved is on its node' is_all_on forks-kernel 6
ok 'a master and its workers have no page elsewhere, also none that they share since the fork'
for unit in forks-gentle forks-kernel; do
        wait_until 60 "$unit is bound" unit_is_bound "$unit"
done
ok 'both are reported as bound'
systemctl stop forks-gentle forks-kernel
plan
