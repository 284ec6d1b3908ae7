# shellcheck shell=bash
# about: drift is repaired and told; tidbnumactl shows, pauses, releases; an observing daemon changes nothing
# long machines: epyc8 epyc8-cgroup1
# timeout: 1500

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=(tidb-4000 tikv-20160)

operator_policy() {
        policy operator <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
    memory: bind
    rate: 256MiB/s
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {nodes: 5-6}
    memory: bind
    rate: 256MiB/s
sampling: {interval: 2s}
enforcement: {${1:-}}
EOT
}

# --- the readings: of the kernel's files and of systemd, never of the daemon's ------------------------------------------

# Where the cpuset of a unit is: its own on v2, the directory of the instance on v1.
cpuset_of() {
        if is_cgroup_v1; then
                echo "/sys/fs/cgroup/cpuset$(sed -n 's/^[0-9]*:cpuset://p' "/proc/$(main_pid "$1")/cgroup")"
        else
                echo "/sys/fs/cgroup$(systemctl show -P ControlGroup "$1.service")"
        fi
}

readings() {
        local unit file
        for unit in "${units[@]}"; do
                systemctl show -p AllowedCPUs -p AllowedMemoryNodes "$unit.service"
                grep cpuset: "/proc/$(main_pid "$unit")/cgroup" || true
                cpuset_reading "$(cpuset_of "$unit")" | sed "s/^/$unit /"
                threads_reading "$unit"
        done
        for file in /run/systemd/system.control /run/systemd/transient; do
                [[ ! -d $file ]] || find "$file" -printf '%p %T@\n' | sort
        done
}

bound_now() {
        held_to tidb-4000.service 2 && [[ $(kview threads tidb-4000.service --unique) == "cpus=2 mems=2" &&
                $(kview threads tikv-20160.service --unique) == "cpus=5-6 mems=5-6" ]]
}

repairs() {
        metric tidbnumad_drift_repairs_total "policy=\"tidb\",kind=\"$1\""
}

# --- observing, it changes nothing --------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 10
workload_unit tikv 20160 tikv-server - --anon 32M --spread --threads 10
workload_start "${units[@]}"
taskset -pc 1 "$(main_pid tidb-4000)"
before=$(readings)
operator_policy 'mode: observe'
install_package
systemctl reload-or-restart tidbnumad
wait_until 60 'it is up' metric_is 0 tidbnumad_enforcing
daemon_looks
daemon_looks
readings >"$ARTIFACTS/observed"
is "$(readings)" "$before" 'observing, it changes nothing: byte for byte as before'
taskset -apc 0-7 "$(main_pid tidb-4000)"
before=$(readings)

# --- bound, and drift repaired ------------------------------------------------------------------------------------------

operator_policy
systemctl reload tidbnumad
wait_until 120 'both are bound' bound_now
settled() {
        tidbnumactl status
}
wait_until 60 'tidbnumactl status ends with 0' settled
ok 'both are bound, and tidbnumactl status ends with 0'
check 'it began to enforce by a reload, and has locked its memory' \
        grep -Eq '^VmLck:[[:space:]]+[1-9]' "/proc/$(main_pid tidbnumad)/status"
check 'a dry run beside it prints a table' grep -q '^tidb-4000 ' <<<"$(tidbnumad --once --dry-run)"
is "$(metric tidbnumad_enforcing)" 1 'and leaves what it publishes alone'
tidbnumad || is $? 1 'a second daemon is refused'
check 'and the first one goes on' systemctl -q is-active tidbnumad
check 'it shows them' grep -qE '^tidb-4000 +bound +2 ' <<<"$(tidbnumactl status)"
cursor=$(journal_cursor)

# repaired WHAT: within how long, printed
repaired() {
        local start
        start=$(uptime_ms)
        wait_until 60 "$1: repaired" bound_now
        ok "$1: repaired"
        echo "repaired after $(($(uptime_ms) - start)) ms at most: $1"
}
echo 0-7 >"$(cpuset_of tidb-4000)/cpuset.cpus"
repaired 'CPUs by hand'
wait_until 60 'it is settled' settled
echo 0-7 >"$(cpuset_of tidb-4000)/cpuset.mems"
repaired 'memory nodes by hand'
drifted() {
        [[ $(repairs cpus) -ge 1 && $(repairs mems) -ge 1 ]]
}
wait_until 30 'both are counted' drifted
ok 'both are counted'
said() {
        daemon_said "$cursor" | grep -E "$1"
}
wait_until 30 'told with what stood there' said 'tidb-4000: something else changed its CPUs to 0-7 instead of 2'
wait_until 30 'for the memory nodes too' said 'tidb-4000: something else changed its memory nodes to 0-7 instead of 2'
ok 'told with what stood there'
before_reload=$(repairs cpus)$(repairs mems)
systemctl daemon-reload
daemon_looks
daemon_looks
check 'a daemon-reload of systemd leaves it bound' bound_now
is "$(repairs cpus)$(repairs mems)" "$before_reload" 'with nothing to repair'

# Contested: somebody insists on the memory nodes.
if ! is_cgroup_v1; then
        contest() {
                echo 0-7 >"$(cpuset_of tidb-4000)/cpuset.mems"
                { tidbnumactl status tidb-4000 --json || true; } | jq -e '.instances[0] | .reason_code == "contested" and
                        (.reason | test("keeps changing its memory nodes"))'
        }
        wait_until 60 'it yields' contest
        ok 'memory nodes that somebody insists on are left to them, and told'
        tidbnumactl status || is $? 3 'then tidbnumactl status ends with 3'
        check 'and says what to do' grep -q '^ *find and stop the other program; ' <<<"$(tidbnumactl status || true)"
        wait_until 150 'after the minute it comes back' bound_now
        ok 'after the minute it comes back'
fi

# --- paused -------------------------------------------------------------------------------------------------------------

wait_until 90 'all is settled' settled
check 'tidbnumactl pause' tidbnumactl pause
is "$(stat -c '%a %U %F' /run/tidbnumad/requests)" '600 root regular file' 'it is kept for a restart, for root alone'
is "$(stat -c '%a %U %F' /run/tidbnumad/control)" '600 root socket' 'as is the control socket'
# exits STATUS DESCRIPTION COMMAND…
exits() {
        local code=0
        said=$("${@:3}" 2>&1) || code=$?
        is "$code" "$1" "$2"
}
exits 77 'nobody else can call it' setpriv --reuid nobody --clear-groups tidbnumactl pause
echo 0-7 >"$(cpuset_of tidb-4000)/cpuset.cpus"
drift=$(readings)
daemon_looks
daemon_looks
is "$(readings)" "$drift" 'paused, drift stays as it is, byte for byte'
systemctl restart tidbnumad
wait_until 60 'it is up' metric_is 0 tidbnumad_enforcing
daemon_looks
is "$(readings)" "$drift" 'a restart of the daemon keeps the pause'
check 'released while paused' tidbnumactl release tikv-20160
is "$(kview threads tikv-20160.service --unique)" 'cpus=0-7 mems=0-7' 'the kernel shows it'
is "$(readings | grep tidb-4000)" "$(grep tidb-4000 <<<"$drift")" 'and nothing else was changed'
check 'bound again' tidbnumactl release --undo tikv-20160.service
check 'tidbnumactl resume' tidbnumactl resume
repaired 'after resume, the drift'
check 'nothing is kept' test ! -e /run/tidbnumad/requests

# --- by itself it does nothing while paused, on request it does ----------------------------------------------------------

wait_until 90 'all is settled' settled
check 'paused' tidbnumactl pause
sed 's/place: {nodes: 2}/place: {nodes: 3}/' -i /etc/tidbnumad.d/operator.yaml
check 'the policy is reloaded' tidbnumactl reload
bound=$(readings)
daemon_looks
is "$(readings)" "$bound" 'paused, a reload moves nothing'
check 'replan is done all the same' tidbnumactl replan tidb-4000 --yes
wait_until 90 'it has its new place' held_to tidb-4000.service 3
ok 'it has its new place'
is "$(readings | grep tikv-20160)" "$(grep tikv-20160 <<<"$bound")" 'and the other one is as it was'
check 'resumed' tidbnumactl resume
operator_policy
systemctl reload tidbnumad
wait_until 120 'both are bound' bound_now

# --- reload: it returns when it is in force, or fails with every error ---------------------------------------------------

printf 'version: 1\nnonsense: 1\n' >/etc/tidbnumad.d/zz-broken.yaml
check 'a reload of a broken policy fails' eval '! systemctl reload tidbnumad'
check 'systemctl status says where' grep -q 'zz-broken.yaml:2:1: unknown key' <<<"$(systemctl status tidbnumad --lines 20 --full || true)"
exits 1 'so does tidbnumactl reload' tidbnumactl reload
check 'with the place' grep -q '/etc/tidbnumad.d/zz-broken.yaml:2:1: unknown key' <<<"$said"
check 'released beside the broken policy' tidbnumactl release tidb-4000
is "$(kview threads tidb-4000.service --unique)" 'cpus=0-7 mems=0-7' 'the kernel shows it'
check 'bound again' tidbnumactl release --undo tidb-4000
wait_until 120 'both are bound' bound_now
rm /etc/tidbnumad.d/zz-broken.yaml
sed 's/nodes: 5-6/nodes: 6-7/' -i /etc/tidbnumad.d/operator.yaml
systemctl reload tidbnumad
is "$(tidbnumactl status tikv-20160 --json | jq -r '.instances[0].nodes')" 6-7 'a reload returns when the policy is in force'
operator_policy
systemctl reload tidbnumad
wait_until 120 'both are bound' bound_now

# --- a full /run, a start, two at once -----------------------------------------------------------------------------------

dd if=/dev/zero of=/run/fill bs=64K 2>/dev/null || true
exits 0 'released with a full /run' tidbnumactl release tidb-4000
rm /run/fill
is "$(kview threads tidb-4000.service --unique)" 'cpus=0-7 mems=0-7' 'with a full /run it is released'
check 'and says that it is not kept' grep -q 'ends when the daemon ends' <<<"$said"
check 'bound again' tidbnumactl release --undo tidb-4000
wait_until 120 'both are bound' bound_now
systemctl restart tidbnumad
check 'right after a start all are released' tidbnumactl release --all
is "$(kview threads tidb-4000.service --unique) $(kview threads tikv-20160.service --unique)" \
        'cpus=0-7 mems=0-7 cpus=0-7 mems=0-7' 'the kernel shows it'
check 'bound again' tidbnumactl release --undo --all
wait_until 120 'both are bound' bound_now
tidbnumactl release --all &
check 'two at once: the one' tidbnumactl release --all
check 'and the other' wait $!
is "$(kview threads tidb-4000.service --unique) $(kview threads tikv-20160.service --unique)" \
        'cpus=0-7 mems=0-7 cpus=0-7 mems=0-7' 'the kernel shows it'
check 'bound again' tidbnumactl release --undo --all
wait_until 120 'both are bound' bound_now

# --- released -----------------------------------------------------------------------------------------------------------

wait_until 90 'all is settled' settled
check 'tidbnumactl release tidb-4000' tidbnumactl release tidb-4000
is "$(kview threads tidb-4000.service --unique)" 'cpus=0-7 mems=0-7' 'the kernel shows it'
is "$(kview threads tikv-20160.service --unique)" 'cpus=5-6 mems=5-6' 'the other stays bound'
wait_until 30 'the metrics say that it is not to be bound' metric_is 0 tidbnumad_instance_bind_wanted 'name="tidb-4000"'
is "$(metric tidbnumad_instance_bind_wanted 'name="tikv-20160"')" 1 'and that the other one is'
check 'tidbnumactl release --undo tidb-4000' tidbnumactl release --undo tidb-4000
wait_until 120 'it is bound again' bound_now
ok 'it is bound again'
check 'tidbnumactl release --all' tidbnumactl release --all
is "$(kview threads tidb-4000.service --unique) $(kview threads tikv-20160.service --unique)" \
        'cpus=0-7 mems=0-7 cpus=0-7 mems=0-7' 'all have back what they had'
check 'tidbnumactl release --undo --all' tidbnumactl release --undo --all
wait_until 120 'both are bound again' bound_now
systemctl stop tidbnumad
exits 69 'without a daemon nothing can be requested' tidbnumactl pause
tidbnumactl status || is $? 69 'tidbnumactl status ends with 69 then'

# --- without D-Bus --------------------------------------------------------------------------------------------------------

! is_cgroup_v1 || { plan; exit; }
mv /run/dbus/system_bus_socket /run/dbus/away
echo 0-7 >"$(cpuset_of tidb-4000)/cpuset.cpus"
systemctl start tidbnumad
counted() {
        [[ $(metric tidbnumad_bind_failures_total 'policy="tidb",reason="bus-gone"') -ge 1 ]]
}
wait_until 90 'without D-Bus the failure is counted as bus-gone' counted
ok 'without D-Bus the failure is counted as bus-gone'
tidbnumactl status tidb-4000 || is $? 3 'tidbnumactl status ends with 3'
check 'and says what to do' grep -q '^ *see systemctl status dbus; ' <<<"$(tidbnumactl status || true)"
check 'the journal has the word' grep -q 'original values\|did not set' <<<"$(journalctl -q -o cat TIDBNUMAD_REASON=bus-gone)"
mv /run/dbus/away /run/dbus/system_bus_socket
wait_until 120 'with D-Bus again it is bound' bound_now
ok 'with D-Bus again it is bound'
plan
