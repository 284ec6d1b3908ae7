# shellcheck shell=bash
# about: nodes that fill in ways that guard does not try: at once, together, with huge pages, dirty cache or a stuck worker: nobody is killed
# long machines: epyc8
# timeout: 14400

# Beside each figure is that of a process without a binding which grows the same way, and in the end the same without a guard.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# Of each of the five kinds, so that the long run is of 20 cases; run --set pressure_rounds=N makes other numbers.
rounds=2
[[ -z ${long:-} ]] || rounds=4
rounds=${pressure_rounds:-$rounds}
huge=/sys/devices/system/node/node3/hugepages/hugepages-2048kB/nr_hugepages
dirty_ratio=$(</proc/sys/vm/dirty_ratio)
trap 'echo 0 >$huge; echo $dirty_ratio >/proc/sys/vm/dirty_ratio; systemctl stop "tikv-2016*" free.service || true; rm -f /tidb-data/dirty/file' EXIT

pressure_policy() {
        policy pressure <<EOT
version: 1
policies:
  - {name: tikv, match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}, place: {nodes: 3}, memory: bind, on_full: $1}
sampling: {interval: 2s}
EOT
}
node_free() {
        awk '$3 == "MemFree:" { print int($4 / 1024) }' /sys/devices/system/node/node3/meminfo
}
# grown UNIT MIB: what it holds
grown() {
        kview anon "$1.service" --json | tee /dev/stderr | jq -e --argjson most "$2" '([.[]] | add) > $most * 1048576'
}
# lay_out GROWTH MIB UNIT…: each grows by that, as RATE:MAX, to so many
lay_out() {
        local growth=$1 unit
        shift
        for unit; do
                workload_unit tikv "${unit#tikv-}" tikv-server - --anon 24M --threads 3 --stall-report --grow "$growth"
        done
        systemctl daemon-reload
}
is_held() {
        metric_is 1 tidbnumad_instance_bound "name=\"$1\".*kind=\"memory\"" && held_to "$1.service" 3
}
# workers: the children of the daemon
workers() {
        pgrep -P "$(main_pid tidbnumad)" || true
}

# --- kinds of pressure: before it grows, and after it has grown --------------------------------------------------------------

before_burst() { :; }
after_burst() { :; }
before_together() { :; }
after_together() { :; }
before_huge() {
        # A third of the node, which no other program can have.
        echo 60 >$huge
        echo "huge pages of node 3: $(<$huge), $(node_free) MiB are free"
}
after_huge() {
        echo 0 >$huge
}
before_dirty() {
        echo 70 >/proc/sys/vm/dirty_ratio
        taskset -c "$(<"/sys/devices/system/node/node3/cpulist")" dd if=/dev/zero of=/tidb-data/dirty/file bs=1M count=220 status=none
        grep -E 'Dirty|Writeback:|MemFree' /sys/devices/system/node/node3/meminfo
}
after_dirty() {
        rm -f /tidb-data/dirty/file
        echo "$dirty_ratio" >/proc/sys/vm/dirty_ratio
}
before_stuck() {
        workers | xargs -r kill -STOP
        echo "stopped: $(workers | xargs)"
}
after_stuck() {
        workers | xargs -r kill -CONT
}

# run_kind KIND GROWTH MOST_USEC UNIT…: $rounds times
run_kind() {
        local kind=$1 growth=$2 most=$3 round unit stalls longest kills fine=0 worst=0
        local mib=${growth##*:}
        shift 3
        lay_out "$growth" "$@"
        for ((round = 1; round <= rounds; round++)); do
                systemctl restart "${@/%/.service}"
                for unit; do
                        wait_until 120 "$kind: $unit listens" listens "${unit#tikv-}"
                        wait_until 360 "$kind: $unit is bound" is_held "$unit"
                done
                daemon_looks
                kills=$(oom_kills)
                "before_$kind"
                systemctl kill --signal=USR2 "${@/%/.service}"
                for unit; do
                        wait_until 600 "$kind, round $round: $unit has grown, and lives" grown "$unit" "${mib%M}"
                done
                "after_$kind"
                for unit; do
                        stalls=$(stall_report "$unit")
                        longest=$(stall_longest "$stalls")
                        echo "$kind, round $round: $unit: $stalls; its memory nodes are $(kview threads "$unit.service" --unique)"
                        ((longest <= worst)) || worst=$longest
                        [[ $(systemctl show -P NRestarts "$unit") == 0 ]] || not_ok "$kind, round $round: $unit was started again"
                done
                [[ $(oom_kills) != "$kills" ]] || fine=$((fine + 1))
        done
        systemctl stop "${@/%/.service}"
        is "$fine of $rounds" "$rounds of $rounds" "$kind: rounds in which nobody was killed for want of memory"
        check "$kind: the longest touch of a bound process, $worst us, is below $most" test "$worst" -lt "$most"
}

# unbound GROWTH: the same without any binding
unbound() {
        local stalls
        systemd-run --quiet --unit=free.service "$vm_payload/bin/workload" --anon 24M --threads 3 --stall-report --grow "$1" --port 6667
        wait_until 120 'a process without a binding listens' listens 6667
        systemctl kill --signal=USR2 free.service
        wait_until 400 'it has grown' grown free "$(sed 's/.*://; s/M//' <<<"$1")"
        stalls=$(stall_report free)
        echo "without a binding, $1: $stalls"
        systemctl stop free.service
}

mount_data 3 /tidb-data/dirty
pressure_policy widen
install_package
wait_until 120 'the daemon is up' metric_is 1 tidbnumad_ready
unbound 25M:600M
unbound 2000M:600M
run_kind stuck 25M:600M 8000000 tikv-20160
run_kind burst 2000M:600M 8000000 tikv-20160
run_kind together 100M:250M 8000000 tikv-20160 tikv-20161
run_kind huge 50M:500M 8000000 tikv-20160
run_kind dirty 50M:500M 8000000 tikv-20160

# --- the same without a guard ---------------------------------------------------------------------------------------------------

pressure_policy keep
systemctl reload tidbnumad
lay_out 100M:250M tikv-20160 tikv-20161
systemctl restart tikv-20160 tikv-20161
for unit in tikv-20160 tikv-20161; do
        wait_until 120 "$unit listens" listens "${unit#tikv-}"
        wait_until 360 "$unit is bound" is_held "$unit"
done
kills=$(oom_kills)
systemctl kill --signal=USR2 tikv-20160 tikv-20161
somebody_killed() { (($(oom_kills) > kills)); }
wait_until 600 'without a guard the kernel kills' somebody_killed
dmesg | grep -iE 'oom-kill:' | tail -n 1
ok 'without a guard the same ends with a kill'
plan
