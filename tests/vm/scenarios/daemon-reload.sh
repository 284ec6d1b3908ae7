# shellcheck shell=bash
# about: a daemon-reload puts the admin's values in force; the binding is set again within these, and that is no contest
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

trap 'systemctl revert tidb-4000.service tidb-4001.service; true' EXIT

# Written by set-property before the binding, after it, and never; by hand in a drop-in.
for port in 4000 4001 4002 4003; do
        workload_unit tidb $port tidb-server - --anon 16M
done
mkdir -p /etc/systemd/system/tidb-4003.service.d
printf '[Service]\nAllowedCPUs=0-5\nAllowedMemoryNodes=0-5\n' >/etc/systemd/system/tidb-4003.service.d/limits.conf
systemctl daemon-reload
for port in 4000 4001 4002 4003; do
        workload_start tidb-$port
done
systemctl set-property tidb-4000.service AllowedCPUs=0-6
policy reload <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 3, share: shared}
    memory: bind
EOT
install_package

cgroup_of() {
        echo "/sys/fs/cgroup$(systemctl show -P ControlGroup "$1.service")"
}
home() {
        local found
        found="$(cat "$(cgroup_of "$1")/cpuset.cpus.effective") $(cat "$(cgroup_of "$1")/cpuset.mems.effective")"
        echo "$1 has $found"
        [[ $found == "${2:-3} ${3:-3}" ]]
}
all_home() {
        home tidb-4000 && home tidb-4001 && home tidb-4002 && home tidb-4003
}
wait_until 180 'all are bound' all_home
ok 'all are bound'
systemctl set-property tidb-4001.service AllowedCPUs=2-6 AllowedMemoryNodes=2-6
wait_until 60 'what is set for ever beside a binding does not end it' home tidb-4001
ok 'what is set for ever beside a binding does not end it'

# As TiUP does it for each server of a cluster.
for turn in 1 2 3 4 5 6; do
        systemctl daemon-reload
        wait_until 60 "after daemon-reload $turn all are bound" all_home
done
ok 'after six daemon-reloads all are bound'
uncontested() {
        { tidbnumactl status --json || true; } | jq -e '[.instances[] | select(.state != "bound" or .reason_code == "contested")] == []'
}
wait_until 60 'and the daemon calls nothing contested' uncontested
ok 'and the daemon calls nothing contested'
check 'it has not counted the reloads as drift' test "$(metric tidbnumad_drift_repairs_total 'policy="tidb".*kind="cpus"')" -le 1

said() {
        journalctl -q -o cat -u tidbnumad | grep -F "$1"
}
wait_until 60 'the journal names the file' said "/etc/systemd/system.control/tidb-4001.service.d/50-AllowedCPUs.conf sets AllowedCPUs=2-6"
ok 'the journal names the file'

# Within what is set later, as within what was set before.
systemctl set-property tidb-4002.service AllowedCPUs=4-6
systemctl daemon-reload
refused() {
        { tidbnumactl status --json tidb-4002 || true; } | jq -e '.instances[0] | .state == "refused" and .reason_code == "own-limits"'
}
wait_until 60 'what leaves nothing of its nodes is respected' refused
ok 'what leaves nothing of its nodes is respected'
wait_until 60 'and put back' home tidb-4002 4-6 0-7
ok 'and put back'
systemctl revert tidb-4002.service
systemctl daemon-reload
wait_until 120 'without that limit it is bound again' home tidb-4002
ok 'without that limit it is bound again'

tidbnumactl release tidb-4000 tidb-4001 tidb-4003
wait_until 60 'a release gives back what was set before the binding' home tidb-4000 0-6 0-7
wait_until 60 'what was set after it' home tidb-4001 2-6 2-6
wait_until 60 'and what a drop-in sets' home tidb-4003 0-5 0-5
ok 'a release gives back what the admin has set, before the binding or after it'
systemctl daemon-reload
is "$(systemctl show -P AllowedCPUs tidb-4001.service)" 2-6 'and it stays at the next daemon-reload'

# What is set while nobody listens, or while nothing may be repaired.
systemctl stop tidbnumad
systemctl set-property tidb-4002.service AllowedCPUs=3-6
systemctl start tidbnumad
wait_until 60 'what was set while the daemon did not run is known' said '/50-AllowedCPUs.conf sets AllowedCPUs=3-6'
wait_until 120 'and it is bound within that' home tidb-4002
tidbnumactl pause
systemctl set-property tidb-4002.service AllowedCPUs=2-6
wait_until 60 'what is set during a pause is known' said 'tidb-4002.service.d/50-AllowedCPUs.conf sets AllowedCPUs=2-6'
tidbnumactl resume
tidbnumactl release tidb-4002
wait_until 60 'and a release gives it back' home tidb-4002 2-6 0-7
ok 'what the admin sets while nobody listens, or during a pause, is known, and given back'
systemctl revert tidb-4002.service
systemctl daemon-reload
tidbnumactl release --undo tidb-4002
wait_until 120 'without that limit it is bound again' home tidb-4002

# Somebody who insists is one all the same.
insist() {
        systemctl set-property --runtime tidb-4002.service AllowedCPUs=0-1
        [[ $({ tidbnumactl status --json tidb-4002 || true; } | jq -r '.instances[0].reason_code') == contested ]]
}
wait_until 120 'a value that is set again and again without a daemon-reload is contested' insist
ok 'a value that is set again and again without a daemon-reload is contested'
plan
