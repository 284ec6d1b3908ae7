# shellcheck shell=bash
# about: killed at random moments, daemon and workers converge, and all is given back; a full or read-only /run, a clock that jumps
# long machines: epyc8
# timeout: 14400

# The moments are drawn from a seed, which the first line of the log names: run --set crash_seed=N draws the same again. After each
# burst of kills comes the way to the planned state. The long run has 50 bursts of four; with --set crash_burst=1 each kill has its
# own, which takes more than an hour.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

kills=20 burst=5
[[ -z ${long:-} ]] || kills=200 burst=4
kills=${crash_kills:-$kills} burst=${crash_burst:-$burst}
seed=${crash_seed:-$(($(cut -d. -f1 /proc/uptime) * 97 + $$))}
RANDOM=$((seed % 32768))
echo "crash_seed=$seed"

units=(tidb-4000 tikv-20160)
card=$(nic_of_node 2)
group=/sys/fs/cgroup/system.slice/tidbnumad.service
clock_offset=$(($(date +%s) - $(uptime_ms) / 1000))
run_size=$(findmnt -no OPTIONS /run | sed -n "s/.*size=\([^,]*\).*/\1/p")
# set_clock SECONDS: so much off. Bash counts by that clock, so each wait is all before a jump or all after it.
set_clock() {
        date -s "@$((clock_offset + $(uptime_ms) / 1000 + $1))" >/dev/null
}

trap 'set_clock 0; rm -f /run/crash-fill; mount -o "remount,size=$run_size" /run' EXIT

# --- what is to be given back: the kernel's files and systemd's properties -----------------------------------------------------

readings() {
        local unit
        for unit in "${units[@]}"; do
                systemctl show -p AllowedCPUs -p AllowedMemoryNodes "$unit.service"
                cpuset_reading "$(group_of "$unit")"
                threads_reading "$unit"
        done
        host_settings "$card"
}

# --- the planned states ---------------------------------------------------------------------------------------------------------

# crash_policy NODE NODES RATE STEER: what the files say; the daemon is not told
crash_policy() {
        policy crash <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: $1}, memory: bind, rate: $3}
  - {name: tikv, match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}, place: {nodes: $2}, memory: bind, rate: $3}
sampling: {interval: 2s}
host: {numa_balancing: $([[ $4 == leave ]] && echo leave || echo off)}
irq: [{match: {net: [$card]}, steer: "$4", irqbalance: ignore}]
EOT
}

# draw_state: into $state, and what the kernel is to show of it; written to the files
draw_state() {
        state=free steered=leave
        if ((RANDOM % 3 == 0)); then
                rm -f /etc/tidbnumad.d/crash.yaml
                return
        fi
        state="tidb-4000.service=$((RANDOM % 3 + 1)) tikv-20160.service=$((RANDOM % 2 * 2 + 4))-$((RANDOM % 2 + 6))"
        ((RANDOM % 2 == 0)) || steered=$((RANDOM % 2 * 7))
        # Slow enough to be interrupted while it moves; what converges is not to take minutes.
        local tidb_nodes=${state#*=}
        crash_policy "${tidb_nodes%% *}" "${state##*=}" "$((RANDOM % 3 * 30 + 12))MiB/s" "$steered"
}

as_before() {
        diff <(readings) <(echo "$before") && no_records
}

# steered_is CPU: each mask of the card, and the switch that goes with it
steered_is() {
        local file
        if [[ $1 == leave ]]; then
                diff <(host_settings "$card") <(echo "$settings")
                return
        fi
        for file in /sys/class/net/"$card"/device/../msi_irqs/*; do
                [[ $(<"/proc/irq/${file##*/}/smp_affinity_list") == "$1" ]] || { echo "$file is on $(<"/proc/irq/${file##*/}/smp_affinity_list")" && return 1; }
        done
        [[ $(</proc/sys/kernel/numa_balancing) == 0 ]]
}

is_as_planned() {
        if [[ $state == free ]]; then
                as_before
        else
                # shellcheck disable=SC2086 # a word a unit
                steered_is "$steered" && kview held $state && kview on $state
        fi
}

# --- the kills: no program is started for them, which would take longer than what is to be hit ---------------------------------

# find_processes: $loop, or nothing, and ${workers[@]}
find_processes() {
        local pid comm ppid words
        loop='' workers=()
        [[ -r $group/cgroup.procs ]] || return 0
        while read -r pid; do
                read -r _ comm _ ppid _ 2>/dev/null <"/proc/$pid/stat" || continue
                [[ $comm == '(tidbnumad)' || $comm == '(exe)' ]] || continue # a worker is /proc/self/exe
                mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline" || continue
                if [[ ${words[1]:-} == --worker ]]; then
                        workers+=("$pid")
                elif ((ppid == 1)); then
                        loop=$pid
                fi
        done <"$group/cgroup.procs" 2>/dev/null
}

another_loop() {
        find_processes
        [[ -n $loop && $loop != "$1" ]]
}

# nap MILLISECONDS: one small program, so that the daemon has the CPUs
nap() {
        local seconds
        printf -v seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
        sleep "$seconds"
}

# kill_one: the loop, or one worker of three where there are any
kill_one() {
        local moment=$((RANDOM % moments))
        find_processes
        # systemd must be quick enough that it is there at all: a daemon given up after five kills never is.
        [[ -n $loop ]] || wait_until 60 'systemd starts the daemon again' another_loop ''
        nap $moment
        find_processes
        if ((${#workers[@]} > 0 && RANDOM % 3 == 0)); then
                kill -KILL "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null || true
                n_workers=$((n_workers + 1))
        elif [[ -n $loop ]]; then
                kill -KILL "$loop" 2>/dev/null || true
                n_loops=$((n_loops + 1))
                wait_until 60 'systemd starts the daemon again' another_loop "$loop"
        fi
}

hang_up() {
        find_processes
        [[ -z $loop ]] || kill -HUP "$loop" 2>/dev/null || true
}

# --- the host --------------------------------------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 10
workload_unit tikv 20160 tikv-server - --anon 48M --spread --threads 10
workload_start "${units[@]}"
mapfile -t threads < <(ls "/proc/$(main_pid tidb-4000)/task")
taskset -pc 1 "${threads[3]}"
taskset -pc 0,2 "${threads[5]}"
ip link set "$card" up
pids="$(main_pid tidb-4000) $(main_pid tikv-20160)"
settings=$(host_settings "$card")
before=$(readings)
echo "$before" >"$ARTIFACTS/before"
cursor=$(journal_cursor)
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready

# --- kills -----------------------------------------------------------------------------------------------------------------------

# From the first moments of a start to when the work is done: on a busy host a start alone takes many seconds.
start=$(uptime_ms)
systemctl restart tidbnumad
moments=$(($(uptime_ms) - start + 1500))
((moments < 6000)) || [[ -n ${long:-} ]] || kills=10
echo "moments are drawn from $moments ms"

n_loops=0 n_workers=0 n_rounds=0 start=$(uptime_ms)
for ((n = 0; n < kills; n += burst)); do
        former=${state:-free}
        draw_state
        echo "round $n_rounds: from '$former' to '$state', interrupts '$steered'"
        hang_up
        for ((k = 0; k < burst; k++)); do
                kill_one
        done
        wait_until 600 "round $n_rounds: it converges to '$state', interrupts '$steered'" is_as_planned
        n_rounds=$((n_rounds + 1))
done
echo "$n_loops kills of the daemon and $n_workers of workers in $(($(uptime_ms) - start)) ms, $n_rounds times converged"
check "the daemon was killed $n_loops times and is up" test "$n_loops" -ge $((kills / 3))
check 'and the planned state was there each time' test "$n_rounds" -eq $((kills / burst))
is "$(main_pid tidb-4000) $(main_pid tikv-20160)" "$pids" 'no process of theirs was ended'

# --- the clock jumps, and the host is asleep -----------------------------------------------------------------------------------

bound_again() {
        state="tidb-4000.service=2 tikv-20160.service=5-6" steered=7
        crash_policy 2 5-6 256MiB/s 7
}

free_again() {
        state=free steered=leave
        rm -f /etc/tidbnumad.d/crash.yaml
}

for jump in 86400 -172800 0; do
        if [[ $state == free ]]; then bound_again; else free_again; fi
        set_clock $jump
        hang_up
        wait_until 400 "with a clock that is off by $jump s, it converges" is_as_planned
        wait_until 60 "with a clock that is off by $jump s, the state counts as recent" scrape /healthz
        kill_one
done
ok 'a clock that jumps a day ahead and two days back delays nothing'

# The kernel's own test of a suspend: all processes are frozen for five seconds, and go on.
if grep -qs freezer /sys/power/pm_test; then
        if [[ $state == free ]]; then bound_again; else free_again; fi
        hang_up
        echo freezer >/sys/power/pm_test
        echo freeze >/sys/power/state || true
        echo none >/sys/power/pm_test
        dmesg | tail -n 5
        wait_until 400 'after all processes were frozen, it converges' is_as_planned
        ok 'after all processes were frozen in the middle of it, it converges'
fi

# --- /run is full ----------------------------------------------------------------------------------------------------------------

# The harness writes there too, so nothing is printed meanwhile. What the command says is in $said.
with_full_run() {
        local status=0
        mount -o "remount,size=$(($(df --output=used -k /run | tail -n 1) + 256))k" /run || return 1
        head -c 1M /dev/zero >/run/crash-fill 2>/dev/null || true
        said=$("$@" 2>&1) || status=$?
        rm -f /run/crash-fill
        mount -o "remount,size=$run_size" /run
        echo "$said"
        return "$status"
}

# The daemon is told of policies, killed, and comes back; what it cannot record it does not change.
changes_nothing() {
        local i former
        hang_up
        nap 3000
        diff <(readings) <(echo "$before") || return 1
        find_processes
        kill -KILL "$loop" || return 1
        former=$loop
        for ((i = 0; i < 60; i++)); do
                if another_loop "$former"; then break; fi
                nap 500
        done
        another_loop "$former" || { echo 'no daemon came back' && return 1; }
        nap 5000
        find_processes
        [[ -n $loop ]] || { echo 'the daemon that came back has ended' && return 1; }
        diff <(readings) <(echo "$before")
}

# reported CURSOR: that originals cannot be saved
reported() {
        daemon_said "$1" 4 | grep -E 'cannot be (saved|used|created)'
}

free_again
hang_up
wait_until 400 'all is as before' is_as_planned
bound_again
cursor=$(journal_cursor)
check '/run is full: the daemon comes back from a kill, and changes nothing that it cannot record' with_full_run changes_nothing
wait_until 60 '/run is full: that is reported' reported "$cursor"
ok 'that is reported'
wait_until 400 '/run has room again: it converges' is_as_planned
ok 'once /run has room again, it converges by itself'

# --- its folder is read-only -----------------------------------------------------------------------------------------------------

# Of a /run with files open for writing, which every host has, the kernel makes no read-only one; the daemon's view of it can be.
free_again
hang_up
wait_until 400 'all is as before' is_as_planned
bound_again
printf '[Service]\nRuntimeDirectory=\nReadOnlyPaths=/run/tidbnumad\n' >/etc/systemd/system/tidbnumad.service.d/read-only.conf
systemctl daemon-reload
cursor=$(journal_cursor)
find_processes
kill -KILL "$loop"
wait_until 60 'with a folder that is read-only, systemd starts it again' another_loop "$loop"
wait_until 60 'a folder that is read-only is reported' reported "$cursor"
find_processes
former=$loop
nap 5000
is "$(diff <(readings) <(echo "$before"))" '' 'with a folder that is read-only, nothing is changed, which is reported'
find_processes
is "$loop" "$former" 'and the daemon runs on'
rm /etc/systemd/system/tidbnumad.service.d/read-only.conf
systemctl daemon-reload
kill_daemon
wait_until 400 'its folder can be written again: it converges' is_as_planned
ok 'once its folder can be written again, a new start converges'

# --- the way back ----------------------------------------------------------------------------------------------------------------

free_again
hang_up
wait_until 400 'after all that, everything is as it was before, byte for byte' is_as_planned
ok 'after all that, everything is as it was before, byte for byte'
is "$(main_pid tidb-4000) $(main_pid tikv-20160)" "$pids" 'and the processes are the same'
check 'nobody was killed for want of memory' nobody_was_killed
plan
