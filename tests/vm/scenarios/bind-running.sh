# shellcheck shell=bash
# about: a running service of 128 MiB is bound to one node and nothing of it stays behind, whatever was set up before
# long machines: epyc8 epyc8-cgroup1
# timeout: 2400
# Beside it, in the same run: the plain property write that people use instead, and how long PID 1 is kept from answering.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

thp=/sys/kernel/mm/transparent_hugepage/enabled
balancing=/proc/sys/kernel/numa_balancing
was_thp=$(sed 's/.*\[\(.*\)\].*/\1/' $thp) was_balancing=$(<$balancing)
trap 'echo "$was_thp" >$thp; echo "$was_balancing" >$balancing; systemctl stop tidb-4000.service other.service 2>/dev/null || true' EXIT

# elsewhere UNIT NODE: bytes of anonymous memory on other nodes, by the processes' maps
elsewhere() {
        kview anon "$1" --json | jq --arg node "$2" 'del(.[$node]) | add // 0'
}

# --- what people do today ----------------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 128M --spread --threads 3
workload_start tidb-4000
before=$(elsewhere tidb-4000.service 5)
systemctl set-property --runtime tidb-4000.service AllowedMemoryNodes=5 AllowedCPUs=5
narrow() {
        [[ $(kview threads tidb-4000.service --unique) == 'cpus=5 mems=5' ]]
}
if is_cgroup_v1; then
        echo 'systemd has no AllowedMemoryNodes= on cgroup v1'
else
        wait_until 60 'the property takes effect' narrow
        after=$(elsewhere tidb-4000.service 5)
        echo "set-property AllowedMemoryNodes=5 alone: $before bytes elsewhere before, $after after" | tee "$ARTIFACTS/table"
        check 'the property alone leaves what was allocated (which shows that the rest of this bites)' \
                test "$after" -gt $((before * 9 / 10))
fi
systemctl stop tidb-4000
systemctl revert tidb-4000.service 2>/dev/null || true
rm -rf /run/systemd/system.control/tidb-4000.service.d
systemctl daemon-reload

# --- ours, in each order -------------------------------------------------------------------------------------------------

# Whether systemd manages cpusets in the slice already, because of another unit.
controller() {
        is_cgroup_v1 || case $1 in
        before) systemd-run --quiet --unit=other.service -p AllowedCPUs=0-7 -p AllowedMemoryNodes=0-7 sleep infinity ;;
        ours)
                systemctl stop other.service 2>/dev/null || true
                # systemd takes it away in its own time; until then it is not the case that is to be seen.
                echo -cpuset >/sys/fs/cgroup/system.slice/cgroup.subtree_control
                ;;
        esac
}
has_controller() {
        grep -qw cpuset /sys/fs/cgroup/system.slice/cgroup.subtree_control
}

install_package
round() {
        local order=$1 balance=$2 pages=$3 name="controller $1, balancing $2, huge pages $3" start took
        echo "$balance" >$balancing
        echo "$pages" >$thp
        controller "$order"
        workload_start tidb-4000
        if ! is_cgroup_v1; then
                is "$(has_controller && echo before || echo ours)" "$order" "$name: it is so"
        fi
        policy running <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 5}, memory: bind}
sampling: {interval: 2s}
EOT
        before=$(elsewhere tidb-4000.service 5)
        start=$(uptime_ms)
        systemctl reload tidbnumad
        wait_until 60 "$name: held, and no anonymous byte elsewhere within a minute" home_and_held
        took=$(($(uptime_ms) - start))
        daemon_looks
        is "$(elsewhere tidb-4000.service 5)" 0 "$name: no anonymous byte elsewhere (of $before; $took ms)"
        echo "tidbnumad, $name: $before bytes elsewhere before, 0 after $took ms" | tee -a "$ARTIFACTS/table"
        rm /etc/tidbnumad.d/running.yaml
        systemctl stop tidb-4000
        systemctl reload tidbnumad
        wait_until 60 "$name: its properties go" no_properties
        systemctl stop other.service 2>/dev/null || true
}
home_and_held() {
        held_to tidb-4000.service 5 && all_on tidb-4000.service 5
}
no_properties() {
        [[ $(systemctl show -P AllowedCPUs tidb-4000.service) == '' ]] && [[ -z $(ls -A /run/tidbnumad/undo) ]]
}
orders=(ours before)
! is_cgroup_v1 || orders=(ours)
if [[ -n ${long:-} ]]; then
        for order in "${orders[@]}"; do
                for balance in 0 1; do
                        for pages in never always; do
                                round "$order" "$balance" "$pages"
                        done
                done
        done
else
        round ours 1 always
        round "${orders[-1]}" 0 never
fi
echo "$was_thp" >$thp
echo "$was_balancing" >$balancing

# --- how long PID 1 does not answer --------------------------------------------------------------------------------------

# pinged FILE COMMAND…: pings PID 1 while the command runs
pinged() {
        local file=$1 pinger
        shift
        busping >"$file" &
        pinger=$!
        "$@"
        kill "$pinger"
        wait "$pinger"
        cat "$file"
}
longest() {
        jq '.longest_ms | floor' "$1"
}

workload_unit tidb 4000 tidb-server - --anon 200M --spread --threads 3
workload_start tidb-4000
pinged "$ARTIFACTS/quiet" sleep 3
policy running <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 5}, memory: bind}
sampling: {interval: 2s}
EOT
bind_it() {
        systemctl reload tidbnumad
        wait_until 120 'all 200 MiB are home' home_and_held
}
pinged "$ARTIFACTS/ours" bind_it
if ! is_cgroup_v1; then
        # The write that does move it: away from a set that the kernel remembers.
        plain_write() {
                systemctl set-property --runtime tidb-4000.service AllowedMemoryNodes=2
                wait_until 120 'it may use node 2 alone' is_narrow
        }
        is_narrow() {
                [[ $(kview threads tidb-4000.service --unique) == *mems=2 ]]
        }
        systemctl stop tidbnumad
        pinged "$ARTIFACTS/plain" plain_write
        # How long the write takes is the kernel's affair: some wait until all is moved, this one does not.
        echo "PID 1, longest wait: quiet $(longest "$ARTIFACTS/quiet") ms, 200 MiB bound by tidbnumad" \
                "$(longest "$ARTIFACTS/ours") ms, the property write $(longest "$ARTIFACTS/plain") ms," \
                "after which $(elsewhere tidb-4000.service 2) bytes were elsewhere" | tee -a "$ARTIFACTS/table"
fi
check 'PID 1 was never blocked for 200 ms' test "$(longest "$ARTIFACTS/ours")" -lt 200
cat "$ARTIFACTS/table"
plan
