# shellcheck shell=bash
# about: haproxy's master and workers, old ones that still drain among them, are one instance and all on their node
# machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"
# shellcheck source=tests/vm/guest/daemon.sh
. "${VM_LIB%/*}/daemon.sh"

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
plan
