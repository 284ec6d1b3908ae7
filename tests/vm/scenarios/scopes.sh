# shellcheck shell=bash
# about: what was started in a login session is bound in a scope of its own, and sent home again; its neighbours are left alone
# long machines: epyc8 epyc8-sanitized
# timeout: 1500

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

slice=user-77.slice
top=/sys/fs/cgroup/user.slice/$slice

# log_in NAME [PROPERTY…]: a scope as a login session has it, with a shell, an unrelated process, and the server that the shell
# has started. Sets $server, $neighbour.
log_in() {
        local name=$1 p options=()
        shift
        for p in "$@"; do
                options+=(-p "$p")
        done
        cat >/run/log-in.sh <<'EOT'
setpriv --reuid=tidb --regid=tidb --init-groups /tidb-deploy/tidb-4000/scripts/run_tidb.sh &
setsid -f sleep 100000
while :; do sleep 1; done
EOT
        systemd-run --quiet --scope --collect --unit="$name" --slice="$slice" "${options[@]}" bash /run/log-in.sh \
                </dev/null &>/dev/null 3>&- &
        wait_until 120 'the server listens' server_listens
        server=$(server_pid)
        neighbour=$(pgrep -f 'sleep 100000')
}

server_listens() {
        tail -n 3 /tidb-deploy/tidb-4000/log/tidb_stderr.log
        listens 4000
}

server_pid() {
        ss -Hltnp 'sport = :4000' | sed -nE 's/.*pid=([0-9]+).*/\1/p'
}

log_out() {
        systemctl kill --signal=KILL "$1.scope" 2>/dev/null || true
        wait_until 60 'the session is gone' test ! -e "$top/$1.scope"
}

# end_server: it, and the scope that it may be in
end_server() {
        kill -KILL "$server"
        wait_until 30 'the server has ended' test ! -e "/proc/$server"
}

# --- the kernel's files -------------------------------------------------------------------------------------------------

start_of() {
        awk '{ print $22 }' "/proc/$1/stat"
}

scope_of() {
        local group
        group=$(home_of "$1")
        group=${group##*/}
        [[ $group == tidbnumad-*.scope ]] && echo "$group"
}

# bound_to PID NODE: alone in a scope of ours, held to the node, with no anonymous page elsewhere
bound_to() {
        local scope
        scope=$(scope_of "$1") && threads_of "$1" && [[ $(threads_of "$1") == "Cpus $2 Mems $2 " ]] &&
                [[ $(cat "$top/$scope/cgroup.procs") == "$1" && $(cat "$top/$scope/cpuset.cpus.effective") == "$2" ]] &&
                kview snapshot "$1" --json | jq -e --arg node "$2" '.[].anon | keys == [$node]'
}

# reading: where the two are, and what they may use
reading() {
        local pid
        for pid in "$server" "$neighbour"; do
                echo "$pid $(start_of "$pid") $(home_of "$pid") $(threads_of "$pid")"
        done
}

reading_is() {
        diff <(reading) - <<<"$1"
}

no_scope() {
        ! compgen -G "$top/tidbnumad-*.scope" && [[ -z $(systemctl list-units --all --plain --no-legend 'tidbnumad-*.scope') ]]
}

scope_policy() {
        policy scopes <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb${2:+, unit: "$2"}}
    place: {nodes: 2}
    memory: ${1:-bind}
    rate: ${3:-256MiB/s}
sampling: {interval: 2s}
EOT
}

# --- bound, and sent home ---------------------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 10
log_in login-1
before=$(reading)
echo "$before"
cursor=$(journal_cursor)
is "$(home_of "$server")" "/user.slice/$slice/login-1.scope" 'it runs in the session, with others'
scope_policy
install_package
wait_until 120 'it is bound in a scope of its own' bound_to "$server" 2
ok 'it is bound in a scope of its own, by the kernel: CPUs, memory nodes, no anonymous page elsewhere'
is "$(start_of "$server")" "$(awk 'NR == 1 { print $2 }' <<<"$before")" 'it is the same process'
is "$(reading | tail -n 1)" "$(tail -n 1 <<<"$before")" 'its neighbour is where it was, and free'
wait_until 60 'the daemon says so' state_is tidb-server bound
ok 'the daemon says so'
scrape /status | jq '.instances[]' >"$ARTIFACTS/status.json"
is "$(jq -r .unit "$ARTIFACTS/status.json")" "$(scope_of "$server")" 'and in which unit'
is "$(jq -c '[.bound_by, .bound_by_reason, .memory_method]' "$ARTIFACTS/status.json")" '["scope",null,"sampled"]' \
        'by which means, and that the location of its memory is a sample'
artifact /run/tidbnumad/undo
systemctl show "$(scope_of "$server")" >"$ARTIFACTS/scope.show"
is "$(cat "$top/$(scope_of "$server")/pids.max")" "$(cat "$top/login-1.scope/pids.max")" 'it may have as many tasks as there'
is "$(systemctl show -P PartOf "$(scope_of "$server")")" login-1.scope 'it would be stopped with its session'
bound=$(reading)

kill_daemon
daemon_looks
daemon_looks
is "$(reading)" "$bound" 'a kill of the daemon changes nothing'
wait_until 30 'adopted' state_is tidb-server bound
is "$(metric tidbnumad_bind_attempts_total 'policy="tidb"')" 0 'and the next start has nothing to set'

# A helper that is born in the scope comes home as well; here it is put there.
sleep 90000 &>/dev/null 3>&- &
helper=$!
echo "$helper" >"$top/$(scope_of "$server")/cgroup.procs"
drop_policy scopes
wait_until 60 'it is sent home' reading_is "$before"
ok 'released, it is where it was, byte for byte'
is "$(home_of "$helper")" "/user.slice/$slice/login-1.scope" 'with what was born in the scope'
kill "$helper"
wait_until 30 'the scope goes' no_scope
ok 'and no scope is left'
wait_until 30 'nor a record' no_records

# --- killed at any moment -----------------------------------------------------------------------------------------------

for i in 0 1 2 3 4 5; do
        scope_policy
        systemctl reload tidbnumad
        end=$(($(uptime_ms) + i * 250))
        until (($(uptime_ms) >= end)); do :; done
        kill_daemon
done
wait_until 120 'killed at six moments, it is bound' bound_to "$server" 2
ok 'killed at six moments, it is bound'
for i in 0 1 2 3; do
        drop_policy scopes
        end=$(($(uptime_ms) + i * 200))
        until (($(uptime_ms) >= end)); do :; done
        kill_daemon
        wait_until 90 'it is home' reading_is "$before"
        wait_until 60 'no scope is left' no_scope
        wait_until 60 'no record is left' no_records
        ok "killed while it releases, $i: it is home, byte for byte"
        scope_policy
        systemctl reload tidbnumad
        wait_until 120 'it is bound again' bound_to "$server" 2
done
drop_policy scopes
wait_until 60 'it is home' reading_is "$before"

# --- systemd executes itself anew meanwhile -------------------------------------------------------------------------------

# Matched by the unit that it was found in: it stays the policy's when it has left that.
scope_policy bind 'login-*.scope' 8MiB/s
systemctl reload tidbnumad
in_scope() {
        scope_of "$server"
}
wait_until 60 'it is in its scope' in_scope
for _ in 1 2 3; do
        systemctl daemon-reexec
        daemon_looks
done
wait_until 180 'with systemd executed anew three times, it is bound' bound_to "$server" 2
ok 'with systemd executed anew three times, it is bound'

# --- the session ends -------------------------------------------------------------------------------------------------------

log_out login-1
check 'the end of its session does not end it' bound_to "$server" 2
drop_policy scopes
free_in_scope() {
        [[ $(threads_of "$server") == 'Cpus 0-7 Mems 0-7 ' ]] && scope_of "$server"
}
wait_until 90 'released, it is free in its scope' free_in_scope
ok 'released with its session gone, it is free, in the scope'
said() {
        daemon_said "$cursor" | grep -q 'its original cgroup is gone'
}
wait_until 30 'it is told' said
ok 'and that is told'
wait_until 30 'the record goes' no_records
scope_policy
systemctl reload tidbnumad
wait_until 120 'bound again' bound_to "$server" 2
ok 'bound again, in the same scope'
end_server
wait_until 60 'a scope goes with its last process' no_scope
wait_until 60 'and so does its record' no_records
ok 'a scope goes with its last process, and so does its record'

# --- a stop of the session is a stop of the scope ----------------------------------------------------------------------------

# The workload spreads over all nodes as it starts, which it cannot while it is narrowed.
drop_policy scopes
log_in login-2
scope_policy
systemctl reload tidbnumad
wait_until 120 'another one is bound' bound_to "$server" 2
systemctl stop login-2.scope
wait_until 60 'a stop of its session stops it' test ! -e "/proc/$server"
ok 'a stop of its session stops it, as it would have without us'
wait_until 60 'no scope is left' no_scope
plan
