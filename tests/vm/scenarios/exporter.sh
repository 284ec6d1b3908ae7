# shellcheck shell=bash
# about: the exporter under systemd: no capability, small under many clients, metrics and status, stale and missing snapshots, a clock that is set
# in turn: epyc8
# timeout: 300

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

observe_policy
workload_unit tidb 4000 tidb-server - --anon 8M
workload_start tidb-4000
install_package
wait_until 60 'the instance is seen' metric_is 1 tidbnumad_instance_info 'name="tidb-4000"'

# ask PATH OPTION…: over the unix socket
ask() {
        local path=$1
        shift
        curl -sS --unix-socket /run/tidbnumad/metrics.sock "$@" "http://localhost$path"
}

code() {
        ask "$1" -o /dev/null -w '%{http_code}'
}

exporter_pid() {
        systemctl show -P MainPID tidbnumad-exporter.service
}

# What the kernel says of the process: no capability, none to be had, nobody's user.
of_status() {
        awk -v key="$1:" '$1 == key { print $2 }' "/proc/$(exporter_pid)/status"
}
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
        is "$(of_status $set)" 0000000000000000 "$set is empty"
done
is "$(of_status NoNewPrivs)" 1 'and it can gain none'
check 'it is not root' test "$(of_status Uid)" -ne 0

# 200 at once: all have asked before the first fetches.
at_once() {
        python3 - <<'EOT'
import socket
clients = []
for _ in range(200):
    client = socket.socket(socket.AF_UNIX)
    client.connect("/run/tidbnumad/metrics.sock")
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    clients.append(client)
for client in clients:
    answer = b""
    while part := client.recv(65536):
        answer += part
    assert answer.startswith(b"HTTP/1.1 200 ") and b"tidbnumad_ready 1" in answer, answer[:200]
EOT
}
check '200 clients have their answers' at_once
check 'it stayed below 16 MiB' test "$(of_status VmHWM)" -lt 16384

systemctl enable --now tidbnumad-exporter-tcp.socket
wait_until 30 'the TCP socket answers' curl -sf -o /dev/null http://127.0.0.1:9797/metrics
ok 'the same over TCP, beside the unix socket'

systemctl stop tidbnumad.service
touch -d '2 hours ago' /run/tidbnumad/metrics.prom
is "$(code /metrics)" 200 'an old snapshot is served'
is "$(code /healthz)" 503 'but is not healthy'
rm /run/tidbnumad/metrics.prom
is "$(code /metrics)" 503 'without a snapshot: 503'
systemctl start tidbnumad.service
healthy() {
        [[ $(code /healthz) == 200 ]]
}
wait_until 60 'a new snapshot is healthy' healthy
ok 'a new snapshot is healthy'
systemctl disable --now tidbnumad-exporter-tcp.socket

# A step of the clock, as of NTP after a start: until the next sample the snapshot would be of another time.
sed -i 's/interval: 1s/interval: 10min/' /etc/tidbnumad.d/observe.yaml
systemctl reload tidbnumad
of_this_time() {
        local age
        age=$(($(date +%s) - $(metric tidbnumad_snapshot_timestamp_seconds | cut -d. -f1)))
        echo "the snapshot is $age s old"
        ((age > -10 && age < 60))
}
for by in '+2 hours' '-2 hours'; do
        date -s "$by"
        wait_until 60 'the snapshot follows the clock' of_this_time
        check "the clock is set by $by: the snapshot follows" healthy
done

# The run may have been given the daemon's package alone.
if compgen -G "$vm_payload/debs/tidbnumad-monitoring_*" >/dev/null; then
        check 'rules and dashboard are in the package tidbnumad-monitoring' test -s /usr/share/tidbnumad/monitoring/tidbnumad.rules.yml -a -s /usr/share/tidbnumad/monitoring/tidbnumad-dashboard.json
        check 'promtool accepts the rules' promtool check rules /usr/share/tidbnumad/monitoring/tidbnumad.rules.yml
fi
plan
