# shellcheck shell=bash
# about: the package as a user installs and removes it: what runs, with which rights, and what is left
# machines: epyc8-bullseye
# in turn: epyc8
# long machines: epyc8-cgroup1 epyc8-trixie
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

apt() {
        DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"
}

need_package
cursor=$(journal_cursor)
apt install -y --no-install-recommends "$vm_payload"/debs/*.deb
is "$(systemctl is-active tidbnumad)" active 'installed, the daemon runs'
is "$(systemctl is-enabled tidbnumad)" enabled 'and will run after the next boot'
is "$(systemctl is-active tidbnumad-exporter.socket)" active 'the metrics socket listens'
is "$(systemctl is-active tidbnumad-exporter-tcp.socket || true)" inactive 'the TCP socket does not'
is "$(stat -c %a /run/tidbnumad/metrics.sock)" 666 'anyone may read the metrics'
is "$(stat -c '%a %U' /run/tidbnumad/undo)" '700 root' 'undo records are for root'
check 'the daemon answers by its socket' scrape /healthz
is "$(systemctl show -P NRestarts tidbnumad)" 0 'it did not need a second start'

pid=$(main_pid tidbnumad)
caps=$(capsh --decode="$(awk '/^CapBnd/ { print $2 }' "/proc/$pid/status")" 2>/dev/null || awk '/^CapBnd/ { print $2 }' "/proc/$pid/status")
echo "capabilities of the daemon: $caps"
check 'the daemon may not do everything' test "$(awk '/^CapEff/ { print $2 }' "/proc/$pid/status")" != 000001ffffffffff
# What it sees of the host's files, as root with all capabilities sees them through its mounts.
may_write() {
        bash -c 'value=$(cat "$1") && printf %s "$value" >"$1"' bash "/proc/$pid/root$1" 2>&1
}
for file in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan; do
        check "$file is read-only for the daemon" test "$(may_write "$file" | grep -c 'Read-only file system')" = 1
done
check 'masks of interrupts are not' may_write /proc/irq/default_smp_affinity
check 'nor are those of queues' may_write "/sys/class/net/$(nic_of_node 2)/queues/rx-0/rps_cpus"
group=$(dirname "$(find /sys/fs/cgroup -maxdepth 3 -path '*system.slice/cgroup.procs' | head -n 1)")
check 'nor are control groups' test -w "/proc/$pid/root$group/cgroup.procs"
# Listening sockets of any kind belong to the exporter, but for one that root alone can open.
is "$(ss -Hlnp -A tcp,udp,raw,unix_stream,unix_seqpacket | grep "pid=$pid," | awk '{ print $1, $5 }')" 'u_str /run/tidbnumad/control' \
        'the daemon listens on its control socket alone'
is "$(stat -c '%a %U' /run/tidbnumad/control)" '600 root' 'which is root'\''s'

exporter=$(main_pid tidbnumad-exporter)
check 'the exporter runs' test "$exporter" -gt 0
is "$(awk '/^CapBnd/ { print $2 }' "/proc/$exporter/status")" 0000000000000000 'the exporter has no capability'
check 'nor is it root' test "$(stat -c %U "/proc/$exporter")" != root

systemctl enable --now tidbnumad-exporter-tcp.socket
check 'the TCP socket, once it is enabled, answers too' curl -sS --fail --max-time 30 -o /dev/null http://127.0.0.1:9797/metrics
check 'and the unix socket still does' scrape /healthz

for page in tidbnumad.8 tidbnumad-exporter.8 tidbnumactl.8 tidbnumad.d.5; do
        check "manual page $page is there" bash -c "compgen -G '/usr/share/man/man*/$page.gz' || grep -q 'path-exclude=/usr/share/man' -r /etc/dpkg"
done
check 'the program says its version' bash -c 'tidbnumad --version | grep -qE "^tidbnumad [0-9]"'
check 'so does the one for the operator, for any user' bash -c '/usr/bin/tidbnumactl --version | grep -qE "^tidbnumactl [0-9]"'
check 'the installed policies are right' tidbnumactl validate
check 'and there is a plan for this host' tidbnumactl plan
check 'its words are completed' test -f /usr/share/bash-completion/completions/tidbnumactl
is "$(daemon_said "$cursor" 3)" '' 'no error in the journal'

# An upgrade, as far as one package can show it; the scenario upgrade has two.
if [[ -n ${long:-} ]]; then
        apt install -y --reinstall "$vm_payload"/debs/*.deb
        check 'reinstalled, another daemon runs' test "$(main_pid tidbnumad)" != "$pid"
        is "$(systemctl is-active tidbnumad)" active 'and is active'
        check 'the metrics are there as before' scrape /healthz
        check 'over TCP too' curl -sS --fail --max-time 30 -o /dev/null http://127.0.0.1:9797/metrics

        systemctl stop tidbnumad
        is "$(systemctl show -P Result tidbnumad)" success 'it stops cleanly'
        systemctl start tidbnumad
fi

# --- removed while a unit is bound -------------------------------------------------------------------------------------

policy tidb <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
    memory: bind
sampling: {interval: 2s}
EOT
workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 5
workload_start tidb-4000
systemctl reload tidbnumad
bound() {
        all_on tidb-4000.service 2 && held_to tidb-4000.service 2
}
undo_records() {
        find /run/tidbnumad/undo -name '*.json' -printf '%f %s\n' 2>/dev/null | sort
}
left() {
        compgen -G '/run/tidbnumad*' || true
        compgen -G '/etc/tidbnumad*' || true
        compgen -G '/etc/systemd/system/*/tidbnumad*' || true
}
wait_until 90 'a unit is bound' bound
systemctl stop tidbnumad
records=$(undo_records)
check 'stopped, the daemon leaves an undo record' test -n "$records"
n_records=$(wc -l <<<"$records")
said=$(apt remove -y 'tidbnumad*')
check 'a removal reports what stays in force' grep -q "tidbnumad: $n_records bindings or settings stay in force" <<<"$said"
check 'removed, nothing of it runs' bash -c '! pgrep -f ^/usr/sbin/tidbnumad'
check 'and the unit is bound as before' bound
said=$(apt purge -y 'tidbnumad*')
check 'so does a purge, with the way back' grep -q "$n_records bindings or settings stay in force.*tidbnumactl release --all" <<<"$said"
check 'and it reports that a policy is kept' grep -q '/etc/tidbnumad.d is kept' <<<"$said"
is "$(undo_records)" "$records" 'a purge keeps the undo records that are needed'
is "$(find /run/tidbnumad -mindepth 1 -maxdepth 1)" /run/tidbnumad/undo 'and nothing else of what the daemon published'

apt install -y --no-install-recommends "$vm_payload"/debs/*.deb
wait_until 90 'installed again, the daemon is ready' metric_is 1 tidbnumad_ready
check 'it can still release the unit' tidbnumactl release --all
is "$(kview threads tidb-4000.service --unique)" 'cpus=0-7 mems=0-7' 'which has back what it had'
wait_until 30 'no undo record is left' no_records

# --- purged with nothing to restore ------------------------------------------------------------------------------------

rm /etc/tidbnumad.d/tidb.yaml
said=$(apt purge -y 'tidbnumad*')
check 'purged, nothing of it runs' bash -c '! pgrep -f ^/usr/sbin/tidbnumad'
is "$(grep '^tidbnumad: ' <<<"$said" || true)" '' 'with nothing to restore, a purge reports nothing'
is "$(left)" '' 'and nothing of it is left'
is "$(systemctl --failed --plain --no-legend | wc -l)" 0 'no unit failed'
plan
