# shellcheck shell=bash
# about: etcd, Prometheus, a JVM, haproxy and RocksDB's db_bench are bound, moved and released while they answer, and no request fails
# long machines: epyc8-programs
# timeout: 2400

# They have the names of what they stand for: etcd is what PD embeds, Prometheus a large Go program, db_bench is RocksDB under
# load. All their memory is on wrong nodes when the daemon starts. The witnesses are each answer that a client gets, and numa_maps
# and memory.numa_stat as kview reads them.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=(tidb-4000 tikv-20160 pd-2379 app-8080 haproxy)
asked=(tidb app pd tidb-by-haproxy app-by-haproxy)
java=$(readlink -f /usr/bin/java)
log=$ARTIFACTS/requests table=$ARTIFACTS/table
remote_before=0 # by remember_memory
rocksdb=$ARTIFACTS/rocksdb.csv
: >"$table"

# --- the programs ------------------------------------------------------------------------------------------------------------------

# program UNIT FILE OPTION…: a copy of FILE under the last word of UNIT's policy, in a unit as TiUP lays it out
program() {
        local unit=$1 name=$2 file=$3 dir=/tidb-deploy/$1
        shift 3
        mkdir -p "$dir"/{bin,scripts} "/tidb-data/$unit"
        if [[ $name != java ]]; then cp --dereference "$file" "$dir/bin/$name" && file=bin/$name; fi
        {
                printf '#!/bin/bash\nset -e\ncd %q\nexec' "$dir"
                printf ' %q' "$file" "$@"
                printf ' >>%q 2>&1\n' "$dir/log"
        } >"$dir/scripts/run.sh"
        chmod 755 "$dir/scripts/run.sh"
        chown -R tidb:tidb "$dir" "/tidb-data/$unit"
        printf '[Service]\nUser=tidb\nExecStart=/bin/bash -c %s\nRestart=no\n' "'$dir/scripts/run.sh'" >"/etc/systemd/system/$unit.service"
}

prometheus_file() {
        cat >/tidb-deploy/prometheus.yml <<'EOT'
global: {scrape_interval: 5s, scrape_timeout: 5s}
scrape_configs:
  - {job_name: tidbnumad, static_configs: [{targets: ['127.0.0.1:9797']}]}
  - {job_name: itself, static_configs: [{targets: ['127.0.0.1:4000']}]}
  - {job_name: pd, static_configs: [{targets: ['127.0.0.1:2379']}]}
EOT
}

haproxy_file() {
        [[ -e /etc/haproxy/haproxy.cfg.vm-saved ]] || cp /etc/haproxy/haproxy.cfg /etc/haproxy/haproxy.cfg.vm-saved
        cat >/etc/haproxy/haproxy.cfg <<'EOT'
global
        user haproxy
        group haproxy
        nbthread 4

defaults
        mode http
        option httpclose
        timeout connect 30s
        timeout client 2m
        timeout server 2m

frontend tidb
        bind 127.0.0.1:3390
        default_backend tidb
frontend app
        bind 127.0.0.1:3391
        default_backend app
backend tidb
        server tidb-4000 127.0.0.1:4000
backend app
        server app-8080 127.0.0.1:8080
EOT
}

# systemd waits for haproxy's own word at start and reload.
haproxy_patience() {
        mkdir -p /etc/systemd/system/haproxy.service.d
        printf '[Service]\nTimeoutStartSec=400\n' >/etc/systemd/system/haproxy.service.d/patience.conf
}

# start_on NODE UNIT: all memory that it has from its start is there; then it may use all nodes, as without any setting
start_on() {
        systemctl set-property --runtime "$2.service" "AllowedMemoryNodes=$1"
        systemctl start "$2"
}
open_memory() {
        local unit
        for unit in "${units[@]}"; do
                systemctl set-property --runtime "$unit.service" "AllowedMemoryNodes=0-$((VM_NODES - 1))"
                wait_until 60 "$unit may use all nodes" is_open "$unit"
                rm -rf "/run/systemd/system.control/$unit.service.d"
        done
        systemctl daemon-reload
}
is_open() {
        kview threads "$1.service" --unique
        [[ $(kview threads "$1.service" --unique) == "cpus=0-$((VM_NODES - 1)) mems=0-$((VM_NODES - 1))" ]]
}
all_are_open() {
        local unit
        for unit in "${units[@]}"; do is_open "$unit" || return 1; done
}

# answers URL
answers() {
        curl -sS --fail --max-time 20 -o /dev/null "$1"
}

# --- what is counted -----------------------------------------------------------------------------------------------------------------

# ask_begin: from now on, requests to all of them. H2 keeps a session for each request to a page, and fills its heap; not to a file.
ask_begin() {
        askload "$log" tidb='keep:http://127.0.0.1:4000/api/v1/query?query=up' app=http:http://127.0.0.1:8080/stylesheet.css \
                pd=etcd:http://127.0.0.1:2379 'tidb-by-haproxy=http:http://127.0.0.1:3390/api/v1/query?query=up' \
                app-by-haproxy=http:http://127.0.0.1:3391/stylesheet.css &
        asker=$!
}

# answered NUMBER SINCE: each has answered so often since then, by the milliseconds since boot; and RocksDB has done as much
answered() {
        awk -v n="$1" -v since="$2" -v names="${asked[*]}" '
                $1 >= since && $4 == "ok" { count[$2]++ }
                END { split(names, name); for (i in name) { print name[i], count[name[i]] + 0; if (count[name[i]] < n) few = 1 } exit few }' "$log"
}

# operations: of RocksDB so far, by its own report, which has a line each second
operations() {
        awk -F, 'NR > 1 { sum += $2 } END { print sum + 0 }' "$rocksdb"
}
operations_pass() {
        (($(operations) > $1))
}

# phase NAME SINCE OPERATIONS: its lines of the table, of the requests that were on their way since then; errors of it are shown
phase() {
        awk -v since="$2" '$1 + $3 >= since' "$log" | sort -k2,2 -k3,3n | awk -v phase="$1" '
                function line() {
                        printf "%-22s %-16s %5d sent %5d answered %3d failed %7d ms median %7d ms longest\n",
                                phase, name, sent, ok, sent - ok, took[int((sent + 1) / 2)], took[sent]
                }
                $2 != name { if (sent) line(); name = $2; sent = ok = 0 }
                { took[++sent] = $3; ok += $4 == "ok" }
                END { if (sent) line() }' | tee -a "$table"
        printf '%-22s %-16s %5d operations\n' "$1" rocksdb $(($(operations) - $3)) | tee -a "$table"
        awk -v since="$2" '$1 + $3 >= since && $4 != "ok" && n++ < 20' "$log"
}

# elsewhere UNIT NODE: MiB of anonymous memory on other nodes
elsewhere() {
        kview anon "$1.service" --json | jq --arg node "$2" 'del(.[$node]) | (add // 0) / 1048576 | floor'
}

# remember_memory PHASE PLACE…: writes down what is elsewhere, as UNIT=NODE
remember_memory() {
        local name=$1 place mib
        shift
        remote_before=0
        for place; do
                mib=$(elsewhere "${place%=*}" "${place#*=}")
                echo "$name: ${place%=*}: $mib MiB of anonymous memory on other nodes than ${place#*=}" | tee -a "$table"
                remote_before=$((remote_before + mib))
        done
}

home() {
        kview on "${@/=/.service=}"
}
held() {
        kview held "${@/=/.service=}"
}

# --- their places --------------------------------------------------------------------------------------------------------------------

places() { # TIDB TIKV PD APP HAPROXY: nodes, or what else place may have
        policy programs <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}, place: {$1}}
  - {name: tikv, match: {exe: tikv-server, unit: "tikv-*.service", user: tidb}, place: {$2}}
  - {name: pd, match: {exe: pd-server, unit: "pd-*.service", user: tidb}, place: {$3}}
  - {name: app, match: {exe: "$java", unit: "app-*.service", user: tidb}, place: {$4}}
  - {name: haproxy, match: {exe: /usr/sbin/haproxy, unit: haproxy.service}, place: {$5}}
sampling: {interval: 2s}
EOT
}

# go_home PHASE PLACE…: after the policies were written: all go there under load, and haproxy is reloaded meanwhile
go_home() {
        local name=$1 since ops
        shift
        remember_memory "before $name" "$@"
        check "before $name: $remote_before MiB are elsewhere" test "$remote_before" -gt 60
        since=$(uptime_ms) ops=$(operations)
        systemctl reload tidbnumad
        systemctl reload haproxy
        wait_until 300 "$name: each has all its memory and its threads at home" home "$@"
        wait_until 120 "$name: and the kernel gives it memory of no other node" held "$@"
        wait_until 300 "$name: each answers" answered 1 "$since"
        phase "$name: on the way" "$since" "$ops"
        since=$(uptime_ms) ops=$(operations)
        systemctl reload haproxy
        wait_until 300 "$name: each answers twenty times" answered 20 "$since"
        wait_until 120 "$name: RocksDB works" operations_pass "$ops"
        wait_until 120 "$name: all are still at home, the new worker of haproxy too" home "$@"
        ok "$name: threads and memory of each are on its node"
        phase "$name: there" "$since" "$ops"
        remember_memory "after $name" "$@"
        is "$remote_before" 0 "$name: no anonymous memory elsewhere"
}

logs() {
        local unit
        for unit in "${units[@]}"; do
                if [[ -e /tidb-deploy/$unit/log ]]; then tail -c 20000 "/tidb-deploy/$unit/log" >"$ARTIFACTS/$unit.log"; fi
        done
}
trap logs EXIT

main_pids() {
        systemctl show -P MainPID "${units[@]}" | xargs
}

# --- without a binding -----------------------------------------------------------------------------------------------------------------

step 'the programs start, with their memory on wrong nodes'
mount_data 3 /tidb-data/tikv-20160
program tidb-4000 tidb-server /usr/bin/prometheus --config.file=/tidb-deploy/prometheus.yml --storage.tsdb.path=/tidb-data/tidb-4000 \
        --web.listen-address=127.0.0.1:4000 --log.level=warn
program pd-2379 pd-server /usr/bin/etcd --name pd-2379 --data-dir /tidb-data/pd-2379/pd --listen-client-urls http://127.0.0.1:2379 \
        --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 \
        --initial-advertise-peer-urls http://127.0.0.1:2380 --initial-cluster pd-2379=http://127.0.0.1:2380
program app-8080 java "$java" -Xms96m -Xmx96m -XX:+AlwaysPreTouch -XX:TieredStopAtLevel=1 -cp /usr/share/java/h2.jar org.h2.tools.Server \
        -web -webPort 8080
# Fills its store, and then reads and writes it for longer than this lasts, at a rate that leaves the emulated CPUs time for others.
# It takes 256 reads at a time from what ten parts of a second allow, and aborts where these are fewer: no less than 2560 a second.
program tikv-20160 tikv-server /usr/bin/db_bench --benchmarks=fillseq,readwhilewriting --duration=100000 --num=10000 --value_size=1000 \
        --benchmark_write_rate_limit=1000000 --benchmark_read_rate_limit=2560 --threads=1 --cache_size=33554432 --write_buffer_size=16777216 --compression_type=none \
        --db=/tidb-data/tikv-20160/db --report_interval_seconds=1 --report_file=/tidb-data/tikv-20160/report.csv
ln -s /tidb-data/tikv-20160/report.csv "$rocksdb"
prometheus_file
haproxy_file
haproxy_patience
systemctl daemon-reload
start_on 1 haproxy # first: systemd waits for it, and the others take all CPUs while they start
start_on 6 tidb-4000
start_on 7 pd-2379
start_on 7 app-8080
wait_until 400 'Prometheus answers' answers http://127.0.0.1:3390/-/ready
wait_until 400 'the JVM answers' answers http://127.0.0.1:3391/
wait_until 400 'etcd answers' answers http://127.0.0.1:2379/health
start_on 1 tikv-20160
wait_until 400 'RocksDB works' operations_pass 1000
open_memory
check 'nothing binds them' all_are_open
pids=$(main_pids)
echo "$pids"
check 'a server is what it is called' grep -q 'prometheus, version' <("/proc/${pids%% *}/exe" --version 2>&1)

step 'requests begin'
ask_begin
start=$(uptime_ms)
wait_until 400 'each answers' answered 1 "$start"
since=$(uptime_ms) ops=$(operations)
wait_until 600 'each answers twenty times' answered 20 "$since"
phase 'without a binding' "$since" "$ops"

# --- bound, moved, released ------------------------------------------------------------------------------------------------------------

step 'bound'
printf 'version: 1\nenforcement: {mode: observe}\n' | policy programs
install_package
wait_until 90 'the daemon is up' metric_is 1 tidbnumad_ready
systemctl start tidbnumad-exporter-tcp.socket
# RocksDB is to go to the node of the disk that its files are on.
cursor=$(journal_cursor)
places 'nodes: 0' 'near: storage' 'nodes: 4' 'nodes: 2' 'nodes: 5'
go_home bound tidb-4000=0 tikv-20160=3 pd-2379=4 app-8080=2 haproxy=5
is "$(daemon_said "$cursor" | grep '^tikv-20160: moving' | sed 's/.*to node \([0-9]*\).*/\1/')" 3 'RocksDB went to its disk at once, by no other node'
scraped() {
        curl -sS --fail --get --data-urlencode 'query=tidbnumad_instance_bound{name="tidb-4000",kind="memory"} == 1' \
                http://127.0.0.1:4000/api/v1/query | jq -e '.data.result | length == 1'
}
wait_until 60 'Prometheus has scraped that it is bound itself' scraped
ok 'Prometheus has scraped that it is bound itself'
# It counted 8 CPUs when it started.
threads=$(find "/proc/${pids%% *}/task" -mindepth 1 -maxdepth 1 | wc -l)
echo "Prometheus has $threads threads"
says_threads() {
        { tidbnumactl status tidb-4000 || true; } | tee /dev/stderr | grep -E 'it runs [0-9]+ threads on 1 CPU'
}
if ((threads > 11)); then
        wait_until 60 'status reports a Go server with more threads than CPUs' says_threads
        ok "status reports a Go server with $threads threads on one CPU"
fi

step 'moved'
places 'nodes: 6' 'nodes: 7' 'nodes: 1' 'nodes: 0' 'nodes: 2'
go_home moved tidb-4000=6 tikv-20160=7 pd-2379=1 app-8080=0 haproxy=2

step 'released'
since=$(uptime_ms) ops=$(operations)
drop_policy programs
wait_until 120 'all may use all CPUs and nodes again' all_are_open
ok 'released, all may use all CPUs and nodes again'
systemctl reload haproxy
wait_until 300 'released, each answers twenty times' answered 20 "$since"
wait_until 120 'released, RocksDB works' operations_pass "$ops"
wait_until 30 'no record is left' no_records
phase released "$since" "$ops"

# --- the count --------------------------------------------------------------------------------------------------------------------------

kill -TERM "$asker"
wait "$asker"
phase 'the whole time' "$start" 0
echo "RocksDB: $(operations) operations, $(awk -F, 'NR > 1 && $2 == 0' "$rocksdb" | wc -l) seconds without one" | tee -a "$table"
is "$(awk '$4 != "ok"' "$log" | wc -l)" 0 "no request failed, of $(wc -l <"$log")"
is "$(main_pids)" "$pids" 'and no program was restarted or has ended'
is "$(systemctl show -P NRestarts "${units[@]}" | xargs)" '0 0 0 0 0' 'none was started again'
rm "$rocksdb"
cp /tidb-data/tikv-20160/report.csv "$rocksdb"
cat "$table"
plan
