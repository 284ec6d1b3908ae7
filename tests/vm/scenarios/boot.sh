# shellcheck shell=bash
# about: servers that bind themselves start at a boot with the daemon as they did without it
# long machines: epyc8
# boots: 2
# timeout: 1200

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=/etc/systemd/system
servers=(tidb-4000 tikv-20160 pd-2379 tidb-4001 tidb-4002 tidb-4003 tidb-4004 tidb-4005)

cpus_of() {
        cat "/sys/devices/system/node/node$1/cpulist"
}

# drop_in UNIT LINE…
drop_in() {
        local unit=$1
        shift
        mkdir -p "$units/$unit.service.d"
        printf '%s\n' '[Service]' "$@" >"$units/$unit.service.d/own.conf"
}

runs() {
        local pid
        pid=$(systemctl show -P MainPID "$1")
        echo "$1: $(systemctl show -P ActiveState -P SubState -P Result -P ExecMainStatus "$1" | paste -sd' ')"
        [[ $pid != 0 && $(readlink "/proc/$pid/exe") == */"${1%-*}-server" ]]
}

settled() {
        local now
        now=$({ tidbnumactl status --json "$1" || true; } | jq -r '.instances[0].state')
        echo "$1 is $now"
        [[ $now == bound || $now == partly || $now == refused ]]
}

all_start() {
        local one
        for one in "${servers[@]}"; do
                wait_until 120 "$one runs" runs "$one"
                is "$(systemctl show -P NRestarts "$one")" 0 "$one runs at its first attempt$1"
        done
}

# where SERVER: the CPUs of its threads, as the kernel has them
where() {
        sed -n 's/^Cpus_allowed_list:\s*//p' /proc/"$(main_pid "$1")"/task/*/status | sort -u | paste -sd' '
}

if [[ $VM_BOOT == 1 ]]; then
        # As TiUP writes them with numa_node, and as operators bind what TiUP does not know.
        workload_unit tidb 4000 tidb-server 1 --anon 16M
        workload_unit tikv 20160 tikv-server 3 --anon 16M
        workload_unit pd 2379 pd-server 4 --anon 16M
        for port in 4001 4002 4004 4005; do
                workload_unit tidb $port tidb-server - --anon 16M
        done
        workload_unit tidb 4003 tidb-server 7 --anon 16M
        drop_in tidb-4001 "CPUAffinity=$(cpus_of 2)"
        drop_in tidb-4002 NUMAPolicy=bind NUMAMask=6
        sed -i "s/^exec /exec taskset -c $(cpus_of 5) /" /tidb-deploy/tidb-4004/scripts/run_tidb.sh
        grep -q taskset /tidb-deploy/tidb-4004/scripts/run_tidb.sh
        systemctl daemon-reload
        systemctl enable --now "${servers[@]}"
        all_start ' without the daemon'

        install_package
        # README's, and one server whose script and policy differ.
        policy cluster <<'EOT'
version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, unit: "tikv-*.service", user: tidb}
    place: {near: storage}
    memory: bind
    migrate: gentle
    rate: 256MiB/s
  - name: tidb
    match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}
    place: {share: shared}
    memory: bind
    instances: [{match: {unit: tidb-4003.service}, nodes: 0}]
  - name: pd
    match: {exe: pd-server, unit: "pd-*.service", user: tidb}
    place: {share: shared}
    memory: bind
host:
  numa_balancing: off
EOT
        systemctl reload tidbnumad
        for one in "${servers[@]}"; do
                wait_until 180 "$one is settled" settled "$one"
                ok "$one is settled"
        done
        boot_again
        exit
fi

all_start ' after a boot'
for one in "${servers[@]}"; do
        wait_until 180 "$one is settled after the boot" settled "$one"
        is "$(systemctl show -P NRestarts "$one")" 0 "$one is settled after the boot, and did not start twice"
done
is "$(where tidb-4000)" "$(cpus_of 1)" 'numa_node: 1 has node 1'
is "$(where tikv-20160)" "$(cpus_of 3)" 'numa_node: 3 has node 3'
is "$(where pd-2379)" "$(cpus_of 4)" 'numa_node: 4 has node 4'
is "$(where tidb-4001)" "$(cpus_of 2)" 'CPUAffinity= of node 2 has node 2'
is "$(where tidb-4004)" "$(cpus_of 5)" 'taskset of node 5 has node 5'
elsewhere() {
        local now
        now=$(where tidb-4003)
        echo "tidb-4003 runs on $now"
        [[ $now != "$(cpus_of 0)" ]]
}
check 'what binds its memory to node 7 is not put on node 0' elsewhere
is "$(metric tidbnumad_preparations_revoked_total)" 0 'no preparation had to be taken back'
for one in "${servers[@]}"; do
        systemctl restart "$one"
        wait_until 120 "$one runs again" runs "$one"
        is "$(systemctl show -P NRestarts "$one")" 0 "$one is restarted at the first attempt"
done
plan
