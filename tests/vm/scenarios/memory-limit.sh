# shellcheck shell=bash
# about: a server is born with its share of its node as its limit, sizes itself by it, and is never killed by it
# in turn: epyc8
# long machines: epyc8-cgroup1 epyc8-bullseye epyc8-trixie
# timeout: 3600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/limit.sh
. "${VM_LIB%/*}/limit.sh"

rounds=3
[[ -z ${long:-} ]] || rounds=20
mib=1048576

trap 'rm -f /var/tmp/limit-cache; systemctl stop "tikv-2016*" 2>/dev/null || true' EXIT

# limit_policy VALUE [MODE]: without another entry all of them are on node 3
limit_policy() {
        policy limit <<EOT
version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {nodes: 3}
    memory: preferred
    memory_limit: $1
sampling: {interval: 1s}
enforcement: {mode: ${2:-enforce}}
EOT
}

used_by() {
        cat "$(memory_file "$1" memory.current memory.usage_in_bytes)"
}
anon_above() {
        kview anon "$1.service" --json | tee /dev/stderr | jq -e --argjson least "$2" '([.[]] | add) > $least'
}
grow() {
        systemctl kill --signal=USR2 "$1.service"
}
node_bytes=$(awk '$3 == "MemTotal:" { print $4 * 1024 }' /sys/devices/system/node/node3/meminfo)
host_bytes=$(($(getconf _PHYS_PAGES) * $(getconf PAGE_SIZE)))

# --- born with its share ----------------------------------------------------------------------------------------------

limit_policy share
workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --sizes-first --grow 25M:300M
systemctl daemon-reload
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
wait_until 60 'the unit has its limit before it starts' is_limited tikv-20160
share=$(property_of tikv-20160)
check "its share is the node less the headroom ($share of $node_bytes)" \
        test "$share" -lt "$node_bytes" -a "$share" -gt $((node_bytes * 7 / 10))
workload_start tikv-20160
is "$(limit_of tikv-20160)" "$share" 'the kernel has it'
is "$(sizes_of tikv-20160 memory)" "$share" 'and the server has sized itself by it, not by the host'
check "the host has much more ($host_bytes)" test "$host_bytes" -gt $((4 * share))
wait_until 60 'status.json says that it is in force' published_is tikv-20160 set
scrape /status | jq '.instances[] | {name, state, memory_limit, memory_limit_bytes}'
tidbnumactl explain tikv-20160 | tee /dev/stderr | grep -q 'Memory limit: .*before its start' || not_ok 'explain shows it'

# --- two on a node ----------------------------------------------------------------------------------------------------

workload_unit tikv 20161 tikv-server - --anon 16M --threads 2 --sizes-first
systemctl daemon-reload
half=$((share / 2 - share / 2 % mib))
wait_until 60 'the second has half before it starts' property_is tikv-20161 "$half"
wait_until 60 'the first, which runs, has half as well' limit_is tikv-20160 "$half"
wait_until 60 'and says when that counts' published_is tikv-20160 next-start
is "$(sizes_of tikv-20160 memory)" "$share" 'its sizes are those of its start'
workload_start tikv-20161
is "$(sizes_of tikv-20161 memory)" "$half" 'the second was born with its half'
restart_apart tikv-20160
is "$(sizes_of tikv-20160 memory)" "$half" 'and the first after its next start'
wait_until 60 'which is known' published_is tikv-20160 set

# --- a limit of the admin's that is smaller stays ---------------------------------------------------------------------

systemctl stop tikv-20161
mkdir -p /etc/systemd/system/tikv-20161.service.d
printf '[Service]\nMemoryMax=100M\n' >/etc/systemd/system/tikv-20161.service.d/90-limit.conf
systemctl daemon-reload
workload_start tikv-20161
is "$(limit_of tikv-20161)" $((100 * mib)) "the admin's smaller limit stays"
wait_until 60 'and that is said' published_is tikv-20161 smaller
systemctl stop tikv-20161
rm -r /etc/systemd/system/tikv-20161.service.d /etc/systemd/system/tikv-20161.service
systemctl daemon-reload

# --- given back to the byte -------------------------------------------------------------------------------------------

limit_policy none
systemctl reload tidbnumad
wait_until 60 'without the policy there is no limit' limit_is tikv-20160 max
is "$(property_of tikv-20160)" infinity 'nor a property'
is_cgroup_v1 || is "$(<"$(memory_file tikv-20160 memory.high -)")" max 'nor a brake'
wait_until 30 'nor a word' published_is tikv-20160 none

# --- one that runs and holds too much keeps what it has ----------------------------------------------------------------

limit_policy 160MiB
systemctl stop tikv-20160
workload_unit tikv 20160 tikv-server - --anon 150M --threads 3 --sizes-first
systemctl stop tidbnumad
workload_start tikv-20160
systemctl start tidbnumad
wait_until 60 'one that holds more than nine tenths is not limited' published_is tikv-20160 held
is "$(limit_of tikv-20160)" max 'by the kernel'
is "$(sizes_of tikv-20160 memory)" "$host_bytes" 'it started without the daemon, with the sizes of the host'
systemctl stop tikv-20160
# So little at once that its start is no burst, which lifts the limit for a minute.
workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --sizes-first --stall-report --grow 25M:300M
systemctl daemon-reload
restart_apart tikv-20160
limit=$((160 * mib))
is "$(sizes_of tikv-20160 memory)" $limit 'between stop and start it gets its limit'
wait_until 60 'which is in force' published_is tikv-20160 set

# --- page cache up to the limit kills nobody ----------------------------------------------------------------------------

truncate -s 400M /var/tmp/limit-cache
pid=$(main_pid tikv-20160)
procs=$(memory_file tikv-20160 cgroup.procs cgroup.procs)
for _ in 1 2; do
        bash -c "echo \$\$ >'$procs' && exec cat /var/tmp/limit-cache" >/dev/null
done
used=$(used_by tikv-20160)
check "its group is full of page cache ($used bytes)" test "$used" -gt $((limit * 8 / 10))
daemon_looks
daemon_looks
is "$(limit_of tikv-20160)" $limit 'the limit stays, as the cache can be reclaimed'
is "$(main_pid tikv-20160)" "$pid" 'and it lives'
check 'nobody was killed' nobody_was_killed

# --- anonymous memory that grows to it lifts it in time, also in bursts --------------------------------------------------

speeds=(25M 2000M 100M)
for ((round = 1; round <= rounds; round++)); do
        speed=${speeds[round % 3]}
        systemctl stop tikv-20160
        workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --sizes-first --grow "$speed:300M"
        systemctl daemon-reload
        restart_apart tikv-20160
        is "$(sizes_of tikv-20160 memory)" $limit "round $round: born with its limit"
        wait_until 60 "round $round: which is watched" published_is tikv-20160 set
        pid=$(main_pid tikv-20160)
        grow tikv-20160
        wait_until 120 "round $round: at $speed a second it has 300 MiB" anon_above tikv-20160 $((290 * mib))
        is "$(limit_of tikv-20160)" max "round $round: the limit was lifted"
        wait_until 60 "round $round: also for the unit, else" property_is tikv-20160 infinity
        systemctl daemon-reload
        is "$(limit_of tikv-20160)" max "round $round: a reload of systemd would put it in force again"
        is "$(main_pid tikv-20160)" "$pid" "round $round: it lives"
        wait_until 30 "round $round: it is said" published_is tikv-20160 lifted
        if ((round == 1)); then
                grow tikv-20160
                wait_until 180 'after a minute with room it is in force again' limit_is tikv-20160 $limit
                wait_until 30 'and it was born with it' published_is tikv-20160 set
        fi
done
check 'nobody was killed' nobody_was_killed
is "$(systemctl show -P NRestarts tikv-20160)" 0 'no process was started again by systemd'

# --- nor does what the daemon sets on the unit meanwhile put it in force --------------------------------------------------

sed -i 's/nodes: 3/nodes: 2/' /etc/tidbnumad.d/limit.yaml
systemctl reload tidbnumad
moved() {
        grep -P "^Cpus_allowed_list:\t$(</sys/devices/system/node/node2/cpulist)$" "/proc/$pid/status"
}
wait_until 120 'it gets another place while its limit is lifted' moved
daemon_looks
is "$(limit_of tikv-20160)" max 'and no limit with that'
tidbnumactl release tikv-20160
is "$(limit_of tikv-20160)" max 'nor with a release'
is "$(property_of tikv-20160)" infinity 'after which the unit has none'
is "$(main_pid tikv-20160)" "$pid" 'it lives'
check 'nobody was killed' nobody_was_killed
tidbnumactl release --undo tikv-20160
limit_policy 160MiB
systemctl reload tidbnumad

# --- the daemon comes and goes -----------------------------------------------------------------------------------------

systemctl stop tikv-20160
workload_unit tikv 20160 tikv-server - --anon 24M --threads 3 --sizes-first
systemctl daemon-reload
restart_apart tikv-20160
wait_until 60 'it has its limit' published_is tikv-20160 set
kill_daemon
wait_until 60 'a daemon that was killed knows it again' published_is tikv-20160 set
is "$(limit_of tikv-20160)" $limit 'and it is in force'
systemctl stop tidbnumad
is "$(limit_of tikv-20160)" max 'nobody would lift it while the daemon is stopped, so it is lifted'
is "$(property_of tikv-20160)" $limit 'the next start has it'
systemctl start tidbnumad
wait_until 60 'and it is in force again' limit_is tikv-20160 $limit
kill_daemon
wait_until 30 'it has its record' published_is tikv-20160 set
tidbnumactl release tikv-20160
is "$(limit_of tikv-20160)" max 'a release gives back what was there'
is "$(property_of tikv-20160)" infinity 'also of the unit'
is_cgroup_v1 || is "$(<"$(memory_file tikv-20160 memory.high -)")" max 'and no brake stays'
no_record_of() {
        ! grep -l -r "$1" /run/tidbnumad/undo
}
wait_until 60 'no record of it is left' no_record_of tikv-20160

# --- nor does the brake, when what set it ends before the limit follows ------------------------------------------------

tidbnumactl release --undo tikv-20160
brake_is() {
        local now
        now=$(<"$(memory_file tikv-20160 memory.high -)")
        echo "the brake is $now"
        [[ $now == "$1" ]]
}
# The limit follows in a fifth of a second, so nothing is started in between.
until_brake() {
        local file now end=$((SECONDS + 120))
        file=$(memory_file tikv-20160 memory.high -)
        while ((SECONDS < end)); do
                read -r now <"$file"
                [[ $now == max ]] || return 0
        done
        return 1
}
ways=(TERM KILL release policy)
! is_cgroup_v1 || ways=() # sandbox/limit has v1's
for how in "${ways[@]}"; do
        limit_policy none
        systemctl reload tidbnumad
        wait_until 60 "$how: it has no limit" property_is tikv-20160 infinity
        echo 3 >/proc/sys/vm/drop_caches # what an earlier group has read is not this one's
        bash -c "echo \$\$ >'$procs' && exec cat /var/tmp/limit-cache" >/dev/null
        pid=$(main_pid tidbnumad)
        limit_policy 160MiB
        tidbnumactl reload &
        check "$how: its page cache is reclaimed by the brake" until_brake
        case $how in
        TERM | KILL) kill -"$how" "$pid" ;;
        release) tidbnumactl release tikv-20160 ;;
        esac
        [[ $how != TERM ]] || wait_until 60 'a stop leaves no brake behind' brake_is max
        [[ $how != release ]] || wait_until 60 'nor does a release' brake_is max
        limit_policy none
        case $how in
        TERM) systemctl start tidbnumad ;;
        KILL) wait_until 60 'another daemon runs' another_daemon "$pid" ;;
        *) tidbnumactl reload ;;
        esac
        wait
        tidbnumactl release --undo --all
        wait_until 60 "$how: no brake stays" brake_is max
        wait_until 60 "$how: nor a limit" limit_is tikv-20160 max
        wait_until 60 "$how: nor one of its unit" property_is tikv-20160 infinity
        ok "$how: nothing stays of a limit that did not follow its brake"
done

# --- observe says what would be ----------------------------------------------------------------------------------------

limit_policy 160MiB observe
systemctl restart tidbnumad
wait_until 60 'observe says what would be set' published_is tikv-20160 planned
is "$(limit_of tikv-20160)" max 'and sets nothing'
check 'nobody was killed to the end' nobody_was_killed
plan
