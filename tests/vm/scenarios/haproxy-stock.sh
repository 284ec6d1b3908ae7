# shellcheck shell=bash
# about: haproxy by Debian's own unit (a mount namespace) and configuration (a chroot), started before the daemon and after it, is bound with its worker, and the worker's pages move; a container of a unit stays ignored
# in turn: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

jail=/var/lib/vm-jail
cleanup() {
        systemctl stop jail.service haproxy-alone.service || true
        rm -rf "$jail" /etc/systemd/system/{jail,haproxy-alone}.service
}
trap cleanup EXIT

group=/sys/fs/cgroup/system.slice
cpus_of_node_5=$(</sys/devices/system/node/node5/cpulist)

# pids UNIT: by the kernel's own list
pids() {
        sort -n "$group/$1.service/cgroup.procs"
}

# workers UNIT: those of its processes whose root is not the host's
workers() {
        local pid
        for pid in $(pids "$1"); do
                [[ $(readlink "/proc/$pid/root") != /var/lib/haproxy ]] || echo "$pid"
        done
}

# anonymous_on UNIT on|off: anonymous pages of its processes in a chroot that are on node 5, or elsewhere, by numa_maps
anonymous_on() {
        local pid
        for pid in $(workers "$1"); do
                grep -h 'anon=' "/proc/$pid/numa_maps" | grep -v ' file='
        done | awk -v on="$2" '{ for (i = 1; i <= NF; i++) if (split($i, w, "=") == 2 && w[1] ~ /^N[0-9]+$/ && (w[1] == "N5") == (on == "on")) n += w[2] }
                END { print n + 0 }'
}

threads_are_on_node_5() {
        local pid
        for pid in $(pids "$1"); do
                cat "/proc/$pid"/task/*/status
        done | awk -v cpus="$cpus_of_node_5" '/^Cpus_allowed_list/ { n++; bad += $2 != cpus } END { print n, bad; exit !(n > 0 && bad == 0) }'
}

# answers PORT
answers() {
        curl --silent --fail --max-time 5 "http://127.0.0.1:$1/" | grep -q 'it is haproxy'
}

# in_chroot UNIT NUMBER: it has so many processes that live in the chroot of the configuration, and in a mount namespace
in_chroot() {
        local pid
        [[ $(workers "$1" | wc -l) == "$2" ]] || return 1
        for pid in $(workers "$1"); do
                [[ $(readlink "/proc/$pid/ns/mnt") != "$(readlink /proc/1/ns/mnt)" ]] || return 1
        done
}

# is_one_instance UNIT PROCESSES: bound, and of so many processes, as the daemon reports it
is_one_instance() {
        [[ $(pids "$1" | wc -l) == "$2" ]] &&
                jq -e --arg unit "$1.service" --argjson n "$2" \
                        '[.instances[] | select(.unit == $unit)] | length == 1 and .[0].processes == $n and .[0].state == "bound"' \
                        /run/tidbnumad/status.json
}

worker_is_on_node_5() {
        (($(anonymous_on "$1" on) > 0)) && [[ $(anonymous_on "$1" off) == 0 ]]
}

# is_all_there UNIT PROCESSES HOW: the kernel's files first, then what the daemon says
is_all_there() {
        wait_until 120 "$3: each thread of $1 is on node 5" threads_are_on_node_5 "$1"
        ok "$3: each thread of $1 is on node 5"
        wait_until 120 "$3: the pages of what is in the chroot have moved" worker_is_on_node_5 "$1"
        wait_until 60 "$3: memory.numa_stat agrees" all_on "$1.service" 5
        ok "$3: all anonymous pages of $1 are on node 5, by numa_maps and memory.numa_stat"
        wait_until 90 "$3: $1 is one instance, and bound" is_one_instance "$1" "$2"
        ok "$3: $1 is one instance of $2 processes, and bound"
}

# --- what strangers have -------------------------------------------------------------------------------------------

[[ -e /etc/haproxy/haproxy.cfg.vm-saved ]] || cp /etc/haproxy/haproxy.cfg /etc/haproxy/haproxy.cfg.vm-saved
check "the configuration is Debian's" grep -q '^\s*chroot /var/lib/haproxy$' /etc/haproxy/haproxy.cfg
check "the unit is Debian's" grep -q '^BindReadOnlyPaths=' "$(systemctl show -P FragmentPath haproxy.service)"
# It has no frontend as it comes.
cat >>/etc/haproxy/haproxy.cfg <<'EOF'

frontend field
        bind 127.0.0.1:3390
        http-request return status 200 content-type text/plain string "it is haproxy"
EOF

# A haproxy without a master is in the chroot itself.
cat >/etc/systemd/system/haproxy-alone.service <<'EOF'
[Service]
PrivateTmp=yes
ExecStart=/usr/sbin/haproxy -db -f /run/haproxy-alone.cfg
EOF
sed 's/127.0.0.1:3390/127.0.0.1:3391/; /stats socket/d' /etc/haproxy/haproxy.cfg >/run/haproxy-alone.cfg

# A container is one still, although its path is the policy's.
mkdir -p "$jail/usr/sbin"
cp "$vm_payload/bin/workload" "$jail/usr/sbin/haproxy"
cat >/etc/systemd/system/jail.service <<EOF
[Service]
RootDirectory=$jail
MountAPIVFS=yes
ExecStart=/usr/sbin/haproxy --anon 8M
EOF

policy haproxy <<'EOF'
version: 1
policies:
  - name: haproxy
    match: {exe: /usr/sbin/haproxy}
    place: {nodes: 5}
    memory: preferred
EOF

# --- server first --------------------------------------------------------------------------------------------------

systemctl daemon-reload
systemctl start haproxy.service haproxy-alone.service jail.service
wait_until 60 'haproxy answers' answers 3390
wait_until 60 'the one without a master answers' answers 3391
wait_until 60 'the worker is in its chroot' in_chroot haproxy 1
wait_until 60 'the one without a master is in its chroot' in_chroot haproxy-alone 1
check 'the worker has pages elsewhere' test "$(anonymous_on haproxy off)" -gt 0
check 'the one without a master has pages elsewhere' test "$(anonymous_on haproxy-alone off)" -gt 0
install_package
is_all_there haproxy 2 'server first'
is_all_there haproxy-alone 1 'server first'
check 'haproxy answers' answers 3390
check 'the one without a master answers' answers 3391

# is_ignored PID: the daemon lists it among those that it leaves alone
is_ignored() {
        jq -e --argjson pid "$1" '[.ignored_processes[] | select(.pid == $pid and (.reason | test("mount namespace")))] | length == 1' \
                /run/tidbnumad/status.json
}

wait_until 60 'the container is ignored' is_ignored "$(main_pid jail)"
check 'the container has all CPUs' grep -q "Cpus_allowed_list:[[:space:]]*0-7$" "/proc/$(main_pid jail)/status"
is "$(jq '.ignored_processes | length' /run/tidbnumad/status.json)" 1 'nothing else is ignored'

# --- daemon first --------------------------------------------------------------------------------------------------

systemctl restart haproxy.service haproxy-alone.service
wait_until 60 'haproxy answers again' answers 3390
wait_until 60 'the worker is in its chroot again' in_chroot haproxy 1
is_all_there haproxy 2 'daemon first'
is_all_there haproxy-alone 1 'daemon first'

# The new worker is seen at its fork, or in its chroot by a scan.
old=$(workers haproxy)
has_another_worker() {
        in_chroot haproxy 1 && [[ $(workers haproxy) != "$old" ]]
}
systemctl reload haproxy.service
wait_until 90 'a reload has started another worker' has_another_worker
is_all_there haproxy 2 'after a reload'

# --- a daemon that comes later -------------------------------------------------------------------------------------

systemctl restart tidbnumad.service
is_all_there haproxy 2 'after a restart of the daemon'
check 'tidbnumactl judges the worker as the daemon does' grep 'It belongs to the policy haproxy' <(tidbnumactl explain "$(workers haproxy)")
check 'and the container' grep 'another mount namespace' <(tidbnumactl explain "$(main_pid jail)")
is "$(jq '.ignored_processes | length' /run/tidbnumad/status.json)" 1 'only the container is ignored'
plan
