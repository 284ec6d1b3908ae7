# shellcheck shell=bash
# about: 600 MiB that are preferred on a node of 384: all it can hold, no kill, no long stall, and more when room appears
# long machines: epyc8 epyc8-cgroup1
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

trap 'systemctl stop lodger.service tidb-4000.service 2>/dev/null || true' EXIT

# in MiB
node3() {
        awk -v field="$1:" '$3 == field { print int($4 / 1024) }' /sys/devices/system/node/node3/meminfo
}
anon3() {
        kview anon tidb-4000.service --json | jq '(.["3"] // 0) / 1048576 | floor'
}
anon_all() {
        kview anon tidb-4000.service --json | jq '([.[]] | add) / 1048576 | floor'
}

# Half of node 3 is somebody else's at first.
systemd-run --quiet --unit=lodger.service "$vm_payload/bin/workload" --anon 150M --spread=3:1 --port 7777
wait_until 60 'the lodger listens' listens 7777
workload_unit tidb 4000 tidb-server - --anon 24M --threads 3 --stall-report --grow 40M:600M
policy preferred <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 3}, memory: preferred}
sampling: {interval: 2s}
EOT
install_package
workload_start tidb-4000
wait_until 90 'its CPUs are bound' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="cpu"'
is "$(kview threads tidb-4000.service --unique)" 'cpus=3 mems=0-7' 'its threads run on node 3, its memory may come from anywhere'
first=$(main_pid tidb-4000)
stall_report tidb-4000 >/dev/null

systemctl kill --signal=USR2 tidb-4000.service
has_grown() {
        [[ $(anon_all) -ge 600 ]]
}
wait_until 180 'all 600 MiB are there' has_grown
stalls=$(stall_report tidb-4000)
echo "while it grew: $stalls"
check 'no touch took a second' test "$(stall_longest "$stalls")" -lt 1000000
echo "node 3: $(anon3) MiB of it, $(node3 MemFree) MiB free"
# The headroom is the larger of 2 % of the node and three times its high watermark, in MiB; below it nothing is moved there.
headroom=$(awk -v share=$(($(node3 MemTotal) / 50)) '
        /^Node/ { ours = $2 == "3," }
        ours && $1 == "high" { pages += $2 }
        ours && $1 == "boost" { pages -= $2 }
        END { least = int(3 * pages / 256); print (least > share ? least : share) }' /proc/zoneinfo)
echo "the headroom of node 3 is $headroom MiB"
is_full() {
        [[ $(node3 MemFree) -lt $((headroom + 16)) ]]
}
check 'node 3 is used to the headroom' is_full
had=$(anon3)
is "$(kview threads tidb-4000.service --unique)" 'cpus=3 mems=0-7' 'it was never narrowed'

systemctl stop lodger.service
has_room() {
        [[ $(node3 MemFree) -gt 120 ]]
}
wait_until 60 'there is room' has_room
pulled() {
        local now
        now=$(anon3)
        echo "node 3 has $now MiB of it, had $had; $(node3 MemFree) MiB are free"
        ((now > had + 60)) && is_full
}
wait_until 240 'when room appears, more is pulled back, up to the headroom' pulled
ok "when room appears, more is pulled back: $had MiB, then $(anon3), of 600"
stalls=$(stall_report tidb-4000)
echo "while it was pulled back: $stalls"
check 'no touch took a second then either' test "$(stall_longest "$stalls")" -lt 1000000
is "$(main_pid tidb-4000)" "$first" 'it is the same process'
check 'nobody was killed for want of memory' nobody_was_killed
plan
