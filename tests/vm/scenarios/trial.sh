# shellcheck shell=bash
# about: a trial finds what binding gains and loses, and gives back what it has bound, whoever interrupts it
# long machines: epyc8
# timeout: 1200

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=(tidb-4000 tikv-20160 proxy-7000)

# server UNIT BINARY OPTION…: a server that is Python's interpreter by another name, and runs statusport. No child of its own.
server() {
        local unit=$1 binary=$2 dir=/tidb-deploy/$1
        shift 2
        mkdir -p "$dir/bin"
        cp "$(readlink -f /usr/bin/python3)" "$dir/bin/$binary"
        script "$unit"
        cat >"/etc/systemd/system/$unit.service" <<EOT
[Service]
User=tidb
ExecStart=$dir/bin/$binary $vm_payload/guest/statusport --script $dir/script $*
EOT
}

# script UNIT [JQ]: what its queries cost, unbound and bound. Much, beside what the emulator adds.
script() {
        jq -n "{cost: [6000, 6000], latency: [5, 5], rate: 40, mode: \"metrics\"} ${2:+| $2}" >"/tidb-deploy/$1/script.new"
        mv "/tidb-deploy/$1/script.new" "/tidb-deploy/$1/script"
}

trial_policy() {
        policy trial <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: 2}, memory: bind}
  - {name: walker, match: {exe: tikv-server, unit: tikv-20161.service, user: tidb}, place: {nodes: 7}, memory: bind}
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 5}, memory: preferred}
  - name: proxy
    match: {exe: proxy, user: tidb}
    place: {nodes: 6}
    metrics: {port: 7001, duration: tikv_grpc_msg_duration_seconds}
  - {name: pd, match: {exe: pd-server, user: tidb}, place: {nodes: 3}, memory: bind, rate: 1MiB/s}
sampling: {interval: 1s}
enforcement: {mode: observe}
EOT
}

# readings: what the kernel and systemd have for each
readings() {
        local unit
        for unit in "${units[@]}"; do
                systemctl show -p AllowedCPUs -p AllowedMemoryNodes "$unit.service"
                kview threads "$unit.service" --unique
        done
}

bound_now() {
        [[ $(kview threads tidb-4000.service --unique) == "cpus=2 mems=2" && $(kview threads tikv-20160.service --unique) == "cpus=5 "* &&
                $(kview threads proxy-7000.service --unique) == "cpus=6 "* ]]
}

as_before() {
        [[ $(readings) == "$before" ]] && metric_is 0 tidbnumad_enforcing && no_records
}

# trial STATUS OPTION…: its output and messages, in $said
trial() {
        local status=$1 rc=0
        shift
        said=$(tidbnumactl trial --for 1min "$@" 2>&1) || rc=$?
        echo "$said"
        is "$rc" "$status" "tidbnumactl trial $* ends with $status"
}

says() {
        check "it says: $1" grep -qE -- "$1" <<<"$said"
}

# in_phase without|binding|with: a trial that has come to this phase, in the background, as $!
in_phase() {
        tidbnumactl trial --for 1min >"$ARTIFACTS/interrupted" 2>&1 &
        if [[ $1 == binding ]]; then
                wait_until 90 'it binds, and most are bound' bound_now
        else
                wait_until 90 "it measures $1 binding" grep -q "Measuring $1 binding" "$ARTIFACTS/interrupted"
        fi
}

# given_back STATUS WHAT: the trial, $!, has ended with that, and all is as before
given_back() {
        local rc=0
        wait $! || rc=$?
        is "$rc" "$1" "$2: it ends with $1"
        wait_until 60 "$2: all is as before" as_before
        ok "$2: all is as before"
}

# release_all: and whatever was released may be bound again
release_all() {
        tidbnumactl release --all
        tidbnumactl reload
        tidbnumactl release --undo --all
        wait_until 60 'all is as before' as_before
}

server tidb-4000 tidb-server -P 4000 --status=10080
server tikv-20160 tikv-server --addr 0.0.0.0:20160 --status-addr 127.0.0.1:20180 --status 20180
server proxy-7000 proxy --status 7001
script tikv-20160 '.product = "tikv"'
script proxy-7000 '.product = "tikv"'
systemctl daemon-reload
systemctl start "${units[@]/%/.service}"
for port in 10080 20180 7001; do
        wait_until 60 "port $port listens" listens "$port"
done
trial_policy
install_package
systemctl reload-or-restart tidbnumad
wait_until 60 'it is up' metric_is 0 tidbnumad_enforcing
for unit in "${units[@]}"; do
        wait_until 60 "$unit has a place" state_is "$unit" planned
done
before=$(readings)

step 'a gain is planted'
script tidb-4000 '.cost = [6000, 3000]'
trial 0
echo "$said" >"$ARTIFACTS/transcript"
says 'Better with binding: CPU time a query of tidb-4000 -[45][0-9]'
says '^proxy-7000 +CPU time a query '
says '^tikv-20160 +p99 '
says 'stays bound, in spite of enforcement.mode: observe'
artifact /run/tidbnumad/status.json
check 'all three are bound, by the kernel' bound_now
check 'and a restart of the daemon keeps that' systemctl restart tidbnumad
wait_until 60 'it enforces still' metric_is 1 tidbnumad_enforcing
check 'they are bound' bound_now
release_all
ok 'released, all is as before'

step 'a loss is planted, beside a port that is hostile'
script tidb-4000 '.cost = [6000, 9600]'
script proxy-7000 '.mode = "endless"'
trial 4 --revert-if-worse
says 'Worse with binding: CPU time a query of tidb-4000 \+[5-7][0-9]'
says 'proxy-7000 is not judged: its port 7001 (answers without end|does not answer in time)' # emulated, 16 MiB take longer than it waits
check 'released: all is as before, by the kernel' as_before

step 'nothing is planted'
script tidb-4000
script proxy-7000 '.product = "tikv"'
trial 0 --revert-if-worse
says 'No difference shown'
check 'it stays bound' bound_now
release_all

# Nothing is expected of its verdict, for who knows what the host does meanwhile. The bench has its figures.
step 'a server walks its memory, which is on all nodes and moves home'
# Nor of its kernel, which else moves the memory to the server by itself, where that happens to run on its node.
balancing=$(</proc/sys/kernel/numa_balancing)
echo 0 >/proc/sys/kernel/numa_balancing
server tikv-20161 tikv-server --addr 0.0.0.0:20161 --status-addr 127.0.0.1:20181 --status 20181 --walk 16
script tikv-20161 '.product = "tikv" | .rate = 10' # a walk keeps the port waiting
systemctl daemon-reload
systemctl start tikv-20161
wait_until 60 'port 20181 listens' listens 20181
wait_until 60 'tikv-20161 has a place' state_is tikv-20161 planned
tidbnumactl trial --for 1min --json >"$ARTIFACTS/walk.json" || true
jq -c '.sentence, .instances[]' "$ARTIFACTS/walk.json"
walker() {
        jq -e ".instances[] | select(.name == \"tikv-20161\") | $1" "$ARTIFACTS/walk.json"
}
check 'it is judged' walker '.judged and .cpu_seconds_per_query.without > 0'
check 'most of its memory was on other nodes, and none is any more' walker '.remote_memory | .without > 0.7 and .with < 0.1'
release_all
systemctl stop tikv-20161
echo "$balancing" >/proc/sys/kernel/numa_balancing

step 'interrupted'
in_phase without
kill -INT $!
given_back 3 'interrupted without binding'
workload_unit pd 2379 pd-server - --anon 48M --spread
workload_start pd-2379
wait_until 60 'pd-2379 has a place' state_is pd-2379 planned
units+=(pd-2379) before=$(readings)
in_phase binding
check 'its memory is on its way' state_is pd-2379 moving
kill -INT $!
given_back 3 'interrupted while it binds'
check 'it had not measured with binding' test -z "$(grep 'Measuring with binding' "$ARTIFACTS/interrupted")"
systemctl stop pd-2379
unset 'units[-1]'
before=$(readings)
in_phase with
check 'while it measures with binding, all are bound' bound_now
kill -TERM $!
given_back 3 'interrupted with binding'
in_phase with
kill -KILL $!
given_back 137 'killed'
in_phase with
kill_daemon
given_back 3 'the daemon is killed'
in_phase with
systemctl restart tikv-20160
given_back 3 'a server is started again'
check 'and named' grep -q 'tikv-20160 has ended or was started again' "$ARTIFACTS/interrupted"

step 'refused'
code=0
setpriv --reuid=65534 --clear-groups tidbnumactl trial || code=$?
is "$code" 77 'another user may not'
sed -i 's/port: 7001/port: 7009/' /etc/tidbnumad.d/trial.yaml
tidbnumactl reload
script tidb-4000 '.mode = "redirect"'
script tikv-20160 '.mode = "binary"'
sleep 2
trial 3
says 'proxy-7000 cannot be judged: it does not listen on its status port'
says 'tidb-4000 cannot be judged: its port 10080 answers with HTTP status 302, a redirection'
says 'tikv-20160 cannot be judged: its port 20180 does not speak HTTP'
check 'all is as before' as_before
check 'the servers run' systemctl -q is-active "${units[@]/%/.service}"
nobody_was_killed && ok 'nobody was killed for want of memory'
plan
