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

# script UNIT [JQ]: what its queries cost, unbound and bound
script() {
        jq -n "{cost: [2000, 2000], latency: [5, 5], rate: 40, mode: \"metrics\"} ${2:+| $2}" >"/tidb-deploy/$1/script.new"
        mv "/tidb-deploy/$1/script.new" "/tidb-deploy/$1/script"
}

trial_policy() {
        policy trial <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: 2}, memory: bind}
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 5}, memory: preferred}
  - name: proxy
    match: {exe: proxy, user: tidb}
    place: {nodes: 6}
    metrics: {port: 7001, duration: tikv_grpc_msg_duration_seconds}
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

# in_phase WITH|WITHOUT: a trial that has come to this phase, in the background, as $!
in_phase() {
        tidbnumactl trial --for 1min >"$ARTIFACTS/interrupted" 2>&1 &
        wait_until 60 "it measures $1 binding" grep -q "Measuring $1 binding" "$ARTIFACTS/interrupted"
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
script tidb-4000 '.cost = [2000, 1500]'
trial 0
says 'Better with binding: CPU time a query of tidb-4000 -[12][0-9]'
says '^proxy-7000 +CPU time a query '
says '^tikv-20160 +p99 '
says 'stays bound, in spite of enforcement.mode: observe'
artifact /run/tidbnumad/status.json
check 'all three are bound, by the kernel' bound_now
check 'and a restart of the daemon keeps that' systemctl restart tidbnumad
wait_until 60 'it enforces still' metric_is 1 tidbnumad_enforcing
check 'they are bound' bound_now
check 'tidbnumactl release --all' tidbnumactl release --all
check 'tidbnumactl release --undo --all' tidbnumactl reload
check 'and undo of that' tidbnumactl release --undo --all
wait_until 60 'all is as before' as_before
ok 'all is as before'

step 'a loss is planted, beside a port that is hostile'
script tidb-4000 '.cost = [2000, 2600]'
script proxy-7000 '.mode = "endless"'
trial 4 --revert-if-worse
says 'Worse with binding: CPU time a query of tidb-4000 \+[23][0-9]'
says 'proxy-7000 is not judged: its port 7001 answers without end'
check 'released: all is as before, by the kernel' as_before

step 'nothing is planted'
script tidb-4000
script proxy-7000 '.product = "tikv"'
trial 0 --revert-if-worse
says 'No difference shown'
check 'it stays bound' bound_now
tidbnumactl release --all
tidbnumactl reload
tidbnumactl release --undo --all
wait_until 60 'all is as before' as_before

step 'interrupted'
in_phase without
kill -INT $!
wait $! || is $? 3 'interrupted without binding'
check 'all is as before' as_before
in_phase with
check 'while it measures with binding, all are bound' bound_now
kill -TERM $!
wait $! || is $? 3 'interrupted with binding'
check 'all is as before' as_before
in_phase with
kill -KILL $!
wait_until 60 'killed: all is as before' as_before
ok 'killed: all is as before'
in_phase with
kill_daemon
wait $! || is $? 3 'the daemon is killed'
wait_until 60 'the next daemon gives back: all is as before' as_before
ok 'the next daemon gives back: all is as before'
in_phase with
systemctl restart tikv-20160
wait $! || is $? 3 'a server is started again'
check 'named' grep -q 'tikv-20160 has ended or was started again' "$ARTIFACTS/interrupted"
wait_until 60 'all is as before' as_before
ok 'all is as before'

step 'refused'
setpriv --reuid=65534 --clear-groups tidbnumactl trial || is $? 77 'another user may not'
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
