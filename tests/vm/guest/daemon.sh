# shellcheck shell=bash
# shellcheck disable=SC2119,SC2120,SC2154  # scrape's path is optional; vm_payload is lib.sh's
# The part of lib.sh that asks the daemon, and the files of the kernel by which its answers are judged.

# the policy of the demo host
demo_policy() {
        policy demo <"$vm_payload/guest/demo-policy.yaml"
}

# Binds nothing, and would have each tidb on node 2.
observe_policy() {
        policy observe <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
sampling: {interval: 1s}
enforcement: {mode: observe}
EOT
}

# drop_policy NAME: the file of policies of that name is gone, and the daemon told so
drop_policy() {
        rm -f "/etc/tidbnumad.d/$1.yaml"
        systemctl reload tidbnumad
}

# Where the demo policy puts each unit, and how: UNIT POLICY MEMORY NODE
demo_plan() {
        cat <<EOT
tidb-4000.service tidb bind 0
tidb-4001.service tidb bind 2
tikv-20160.service tikv bind 3
tikv-20161.service tikv bind 6
pd-2379.service pd preferred 4
haproxy.service haproxy preferred 5
EOT
}

is_cgroup_v1() {
        [[ -d /sys/fs/cgroup/systemd ]]
}

# all_on UNIT NODES: by the kernel's files, every thread has exactly their CPUs, and no anonymous byte lies elsewhere.
all_on() {
        kview on "$1=$2"
}

# milliseconds since boot
uptime_ms() {
        awk '{ print int($1 * 1000) }' /proc/uptime
}

# held_to UNIT NODES: the kernel gives none of its threads memory of another node.
held_to() {
        kview held "$1=$2"
}

# cpus_open UNIT: each of its threads may run on all CPUs there are.
cpus_open() {
        [[ $(kview threads "$1.service" --unique) == "cpus=$(</sys/devices/system/cpu/online) "* ]]
}

# scrape [PATH]: as an operator does it
scrape() {
        curl -sS --fail --max-time 30 --unix-socket /run/tidbnumad/metrics.sock "http://localhost${1:-/metrics}"
}

# metric NAME [PATTERN]: the value of the one sample whose labels match the extended regular expression
metric() {
        scrape | sed -nE "s/^$1(\\{[^}]*${2:-}[^}]*\\})? ([^ ]+)\$/\\2/p"
}

# metric_is VALUE NAME [PATTERN]
metric_is() {
        local value
        value=$(metric "$2" "${3:-}")
        echo "$2 is '$value'"
        [[ $value == "$1" ]]
}

# daemon_reads: the daemon has looked at the world since this call began, whatever it looked at before.
daemon_looks() {
        local before
        before=$(metric tidbnumad_snapshot_timestamp_seconds)
        wait_until 60 'the daemon publishes a new snapshot' newer_snapshot "$before"
}

newer_snapshot() {
        awk -v now="$(metric tidbnumad_snapshot_timestamp_seconds)" -v before="$1" 'BEGIN { exit !(now > before) }'
}

journal_cursor() {
        journalctl -n 0 --show-cursor -q | sed -n 's/^-- cursor: //p'
}

# daemon_said CURSOR [PRIORITY]: the daemon's messages since then, of that priority (a number, 3 = err) or a graver one. The
# journal's own filters are not used: together with --after-cursor they swallow the first entry that matches.
daemon_said() {
        journalctl -q --after-cursor="$1" -o json --output-fields=MESSAGE,PRIORITY,_SYSTEMD_UNIT |
                jq -r --arg most "${2:-7}" 'select(._SYSTEMD_UNIT == "tidbnumad.service" and .PRIORITY <= $most) | .MESSAGE'
}

# state_is NAME STATE [TEXT]: of the instance of that name, or the one whose program has it, as status.json tells it
state_is() {
        scrape /status | jq -e --arg name "$1" --arg state "$2" --arg text "${3:-}" '.instances[] |
                select(.name == $name or (.exe | endswith("/" + $name))) |
                (.state + ": " + .reason | stderr) | startswith($state + ":") and contains($text)'
}

# kill_daemon: systemd starts another one, however often.
kill_daemon() {
        local pid
        pid=$(main_pid tidbnumad)
        kill -KILL "$pid"
        wait_until 60 'systemd starts the daemon again' another_daemon "$pid"
}

# What is scraped may still be the former one's.
another_daemon() {
        [[ $(main_pid tidbnumad) != "$1" && $(systemctl is-active tidbnumad) == active ]] && metric_is 1 tidbnumad_ready
}

no_records() {
        [[ -z $(find /run/tidbnumad/undo -name '[!.]*' -type f) ]]
}

# group_of UNIT: the folder of its cgroup; of v1, the one that systemd keeps
group_of() {
        local hierarchy=/sys/fs/cgroup
        ! is_cgroup_v1 || hierarchy=/sys/fs/cgroup/systemd
        echo "$hierarchy$(systemctl show -P ControlGroup "$1.service")"
}

# cpuset_reading DIR: the files of a cpuset; processes are slow to start here, so it starts none
cpuset_reading() {
        local file
        for file in cpus cpus.effective effective_cpus mems mems.effective effective_mems; do
                [[ ! -r $1/cpuset.$file ]] || echo "$file: $(<"$1/cpuset.$file")"
        done
}

# threads_reading UNIT: the CPUs and memory nodes of each thread
threads_reading() {
        local pid
        while read -r pid; do
                grep -HE '^(Cpus|Mems)_allowed_list' "/proc/$pid"/task/*/status
        done <"$(group_of "$1")/cgroup.procs"
}

# stall_report UNIT: has a workload with --stall-report tell of its stalls since the last time: the line
stall_report() {
        local pid before
        pid=$(main_pid "$1")
        before=$(stall_lines "$pid" | wc -l)
        systemctl kill --signal=USR1 "$1.service"
        wait_until 60 'the workload reports its stalls' more_stall_lines "$pid" "$before"
        stall_lines "$pid" | tail -n 1
}

stall_lines() {
        journalctl -q -o cat "_PID=$1" | grep '^stalls:' || true
}

more_stall_lines() {
        (($(stall_lines "$1" | wc -l) > $2))
}

# stall_longest LINE: in microseconds
stall_longest() {
        sed -n 's/.*longest_usec=\([0-9]*\) .*/\1/p' <<<"$1"
}

# --- processes, whatever unit they are in ----------------------------------------------------------------------------------------

# pid_of_port PORT: who listens there, in the network namespace of the host
pid_of_port() {
        ss -Hltnp "sport = :$1" | sed -nE 's/.*pid=([0-9]+).*/\1/p'
}

# home_of PID: its cgroup
home_of() {
        sed -n 's/^0:://p' "/proc/$1/cgroup"
}

# threads_of PID: what its threads may use, each line once
threads_of() {
        cat "/proc/$1"/task/*/status | sed -nE 's/^(Cpus|Mems)_allowed_list:\t/\1 /p' | sort -u | tr '\n' ' '
}

# reading PID…: the processes as they are
reading() {
        local pid
        for pid in "$@"; do
                echo "$pid $(home_of "$pid") $(threads_of "$pid")"
        done
}

reading_is() {
        local expected=$1
        shift
        diff <(reading "$@") - <<<"$expected"
}

# bound PID CPUS MEMS NODE: threads with just these, and no anonymous page on another node
bound() {
        threads_of "$1"
        [[ $(threads_of "$1") == "Cpus $2 Mems $3 " ]] &&
                kview snapshot "$1" --json | jq -e --arg node "$4" '.[].anon | keys == [$node]'
}

# told PORT: by which means, why, and in which state, as status.json has it
told() {
        scrape /status | jq -c --argjson port "$1" '.instances[] | select(.ports | index($port)) |
                [.bound_by, .backend, .bound_by_reason_code, .state, .reason_code]'
}

told_is() {
        told "$1"
        [[ $(told "$1") == "$2" ]]
}
