# shellcheck shell=bash
# about: all that was bound is given back byte for byte, also after the daemon was restarted or killed in the middle
# in turn: epyc8
# long machines: epyc8-cgroup1 epyc8-trixie rpm-bullseye rpm-bookworm rpm-trixie rpm-cgroup1
# timeout: 1500

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=(tidb-4000 tikv-20160)

# undo_policy [ENFORCEMENT] [RATE] [MEMORY]
undo_policy() {
        policy undo <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
    memory: ${3:-bind}
    rate: ${2:-256MiB/s}
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {nodes: 5-6}
    memory: bind
    rate: ${2:-256MiB/s}
sampling: {interval: 2s}
enforcement: {${1:-}}
EOT
}

# --- the readings: of the kernel's files and of systemd, never of the daemon's ------------------------------------------

# reading UNIT
reading() {
        local group pid
        group=$(group_of "$1")
        systemctl show -p AllowedCPUs -p AllowedMemoryNodes "$1.service"
        cpuset_reading "$group"
        ! is_cgroup_v1 || while read -r pid; do
                grep :cpuset: "/proc/$pid/cgroup"
        done <"$group/cgroup.procs"
        threads_reading "$1"
}

readings() {
        local unit
        for unit in "${units[@]}"; do
                reading "$unit" | sed "s/^/$unit /"
        done
}

# readings_are TEXT
readings_are() {
        diff <(readings) - <<<"$1"
}

all_bound() {
        kview on tidb-4000.service=2 tikv-20160.service=5-6 && kview held tidb-4000.service=2 tikv-20160.service=5-6
}

# v1 counts shared memory as anonymous; what matters there is that it is held.
bound_now() {
        if is_cgroup_v1; then held_to tidb-4000.service 2; else all_bound; fi
}

records() {
        find /run/tidbnumad/undo -name '[!.]*' -type f -printf '%f %m\n' | sort
}

# --- laid out in advance: threads that have chosen CPUs themselves ------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 10
workload_unit tikv 20160 tikv-server - --anon 48M --spread --threads 10
workload_start "${units[@]}"
mapfile -t threads < <(ls "/proc/$(main_pid tidb-4000)/task")
taskset -pc 1 "${threads[3]}"
taskset -pc 0,2 "${threads[5]}"
before=$(readings)
echo "$before" >"$ARTIFACTS/before"
cursor=$(journal_cursor)
install_package

bind() {
        undo_policy
        systemctl reload-or-restart tidbnumad
        wait_until 120 'both are bound' bound_now
}

# unbound DESCRIPTION
unbound() {
        wait_until 90 "$1" readings_are "$before"
        ok "$1: byte for byte as before"
        wait_until 30 'its records go' no_records
}

# --- a policy that goes --------------------------------------------------------------------------------------------------

bind
is "$(records | sed 's/.* //' | sort -u)" 600 'what stood before is in files of root alone'
is "$(stat -c '%a %U' /run/tidbnumad/undo)" '700 root' 'in a folder of root alone'
artifact /run/tidbnumad/undo
readings >"$ARTIFACTS/bound"
drop_policy undo
wait_until 60 'it is released' no_records || true
readings >"$ARTIFACTS/released"
diff "$ARTIFACTS/before" "$ARTIFACTS/released" || true
unbound 'a policy that goes'
said() {
        daemon_said "$cursor" | grep -q "$1 is released, for no policy names it any more"
}
wait_until 30 'it is told' said tidb-4000
ok 'and told'

# --- the daemon restarts -------------------------------------------------------------------------------------------------

bind
wait_until 60 'the daemon has seen it' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="cpu'
bound=$(readings)
systemctl restart tidbnumad
wait_until 60 'the daemon is up again' metric_is 1 tidbnumad_ready
daemon_looks
daemon_looks
is "$(readings)" "$bound" 'a restart of the daemon changes nothing'
is "$(metric tidbnumad_bind_attempts_total 'policy="tidb"')" 0 'and has nothing to set'
kill -KILL "$(main_pid tidbnumad)"
wait_until 60 'a killed daemon is started again by systemd' metric_is 1 tidbnumad_ready
daemon_looks
is "$(readings)" "$bound" 'a kill of the daemon changes nothing'

# What it narrowed it knows after all that: bind becomes preferred, and the memory nodes open again.
undo_policy '' '' preferred
systemctl reload tidbnumad
opened() {
        kview snapshot tidb-4000.service --json | jq -e '.[].mems == ["0-7"]'
}
wait_until 90 'from bind to preferred after a restart the memory nodes open again' opened
ok 'from bind to preferred after a restart the memory nodes open again'
drop_policy undo
unbound 'a policy that goes after restarts'

# --- killed in the middle ------------------------------------------------------------------------------------------------

# Moving 42 MiB at 2 MiB a second: it is killed twice in it. What was moved stays moved.
systemctl restart tidb-4000 tikv-20160
wait_until 60 'it listens' listens 4000
wait_until 60 'it listens' listens 20160
mapfile -t threads < <(ls "/proc/$(main_pid tidb-4000)/task")
taskset -pc 1 "${threads[3]}"
before=$(readings)
undo_policy '' 2MiB/s
systemctl reload tidbnumad
moved=0
moved_some() {
        local bytes
        bytes=$(metric tidbnumad_migrated_bytes_total 'name="tidb-4000"')
        echo "moved: $bytes"
        ((bytes > 2000000))
}
for _ in 1 2; do
        wait_until 90 'it is moving' moved_some
        moved=$((moved + $(metric tidbnumad_migrated_bytes_total 'name="tidb-4000"')))
        kill_daemon
done
undo_policy
systemctl reload tidbnumad
wait_until 120 'killed twice while it moves, it is bound' bound_now
ok 'killed twice while it moves, it is bound'
wait_until 60 'and the daemon knows' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="cpu'
moved=$((moved + $(metric tidbnumad_migrated_bytes_total 'name="tidb-4000"')))
check "no byte was moved twice: $moved bytes in all, of 48 MiB" test "$moved" -lt $((52 << 20))
drop_policy undo
unbound 'killed while it moves'

# While the properties are being set: at once, and a moment later each time.
moments=(1)
[[ -z ${long:-} ]] || moments=(0 1 2 3 4 5)
for i in "${moments[@]}"; do
        undo_policy
        systemctl reload tidbnumad
        end=$(($(uptime_ms) + i * 300))
        until (($(uptime_ms) >= end)); do :; done
        kill_daemon
done
wait_until 120 'killed while it is being bound, it is bound' bound_now
ok 'killed while it is being bound, it is bound'
moments=(0)
[[ -z ${long:-} ]] || moments=(0 1 2 3)
for i in "${moments[@]}"; do
        drop_policy undo
        end=$(($(uptime_ms) + i * 300))
        until (($(uptime_ms) >= end)); do :; done
        kill_daemon
        unbound "killed while it releases, $i"
        undo_policy
        systemctl reload tidbnumad
        wait_until 120 'it is bound again' bound_now
done

# --- by the operator -----------------------------------------------------------------------------------------------------

# From here on one of the two is released while the other stays: kernels before 6.2 forget what threads have chosen in all
# services of the slice when systemd takes the controller away with the last one.
drop_policy undo
unbound 'a policy that goes after all that'
taskset -pc 0-7 "${threads[3]}"
before=$(readings)
bind

dropin() {
        mkdir -p /run/tidbnumad.d
        echo "{version: 1, enforcement: {$1}}" >/run/tidbnumad.d/zz-operator.yaml
        systemctl reload tidbnumad
}
dropin 'mode: observe'
bound=$(readings)
rm /etc/tidbnumad.d/undo.yaml
systemctl reload tidbnumad
daemon_looks
is "$(readings)" "$bound" 'paused, nothing is released'
undo_policy
check 'released by name' tidbnumactl release 'tidb-*'
released_alone() {
        opened && [[ $(kview threads tikv-20160.service --unique) == 'cpus=5-6 mems=5-6' ]]
}
wait_until 90 'paused, the one that is named is released all the same, and the other stays' released_alone
ok 'release by name: the one that is named, and no other'
check 'all are released' tidbnumactl release --all
unbound 'release of all'
rm /run/tidbnumad.d/zz-operator.yaml
systemctl reload tidbnumad
check 'the release ends' tidbnumactl release --undo --all
wait_until 120 'resumed, both are bound' bound_now
ok 'resumed, both are bound'

undo_policy 'on_stop: restore'
systemctl reload tidbnumad
daemon_looks
start=$(uptime_ms)
systemctl stop tidbnumad
echo "on_stop: restore took $(($(uptime_ms) - start)) ms"
readings >"$ARTIFACTS/stopped"
is "$(readings)" "$before" 'on_stop: restore gives back before the daemon ends'
check 'with no record left' no_records

# --- what the admin has set ----------------------------------------------------------------------------------------------

! is_cgroup_v1 || { plan; exit; }
systemctl stop "${units[@]}"
for unit in tidb-4001 tidb-4002; do
        workload_unit tidb "${unit#tidb-}" tidb-server - --anon 8M
        mkdir -p "/etc/systemd/system/$unit.service.d"
done
printf '[Service]\nAllowedCPUs=1-2\nAllowedMemoryNodes=0-3\n' >/etc/systemd/system/tidb-4001.service.d/own.conf
printf '[Service]\nAllowedCPUs=6-7\n' >/etc/systemd/system/tidb-4002.service.d/own.conf
workload_start tidb-4001 tidb-4002
units=(tidb-4001 tidb-4002)
before=$(readings)
echo "$before" >"$ARTIFACTS/own-before"
policy undo <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2-4}
    memory: bind
sampling: {interval: 2s}
EOT
systemctl start tidbnumad
own_bound() {
        [[ $(kview threads tidb-4001.service --unique) == 'cpus=2 mems=2-3' ]]
}
wait_until 120 'a unit with properties of its own gets what both allow' own_bound
ok 'a unit with properties of its own gets what both allow'
refused() {
        scrape /status | jq -e '.instances[] | select(.name == "tidb-4002") | .state == "refused" and
                (.reason | test("of its unit leaves nothing"))'
}
wait_until 60 'one whose own leave nothing is refused, and told why' refused
ok 'one whose own leave nothing is refused, and told why'
is "$(reading tidb-4002 | sed 's/^/tidb-4002 /')" "$(grep '^tidb-4002 ' <<<"$before")" 'and not touched'
drop_policy undo
wait_until 60 'the own ones come back' readings_are "$before"
ok 'the own ones come back, as a runtime drop-in'
cursor2=$(daemon_said "$cursor" | grep 'tidb-4001 is released')
check 'which is told' grep -q 'runtime drop-in' <<<"$cursor2"

# Prepared before its start, by the same rules; and given back.
systemctl stop tidb-4001 tidb-4002
policy undo <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2-4}
    memory: bind
EOT
systemctl reload tidbnumad
has() {
        local now
        now="$(systemctl show -P AllowedCPUs "$1") $(systemctl show -P AllowedMemoryNodes "$1")"
        echo "$1 has '$now'"
        [[ $now == "$2" ]]
}
wait_until 60 'an idle unit is prepared' has tidb-4000.service '2-4 2-4'
ok 'an idle unit is prepared'
daemon_looks
check 'one that sets its own is not, for systemd may merge the two' has tidb-4001.service '1-2 0-3'
check 'nor the other' has tidb-4002.service '6-7 '
kill -KILL "$(main_pid tidbnumad)"
drop_policy undo || true
wait_until 90 'an idle unit has back what it had' has tidb-4000.service ' '
ok 'an idle unit has back what it had, over a kill of the daemon'
plan
