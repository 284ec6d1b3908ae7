# shellcheck shell=bash
# about: a unit whose start asks for other CPUs or nodes than its policy starts all the same
# in turn: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=/etc/systemd/system
trap 'systemctl stop "asks-*.service"; rm -rf $units/asks-*; systemctl daemon-reload; true' EXIT

install_package
mkdir -p /tidb-deploy/asks/bin
cp -n "$vm_payload/bin/workload" /tidb-deploy/asks/bin/tidb-server

# asks NAME SCRIPT-LINE [LINE-OF-THE-UNIT…]: as TiUP writes it
asks() {
        local name=asks-$1 command=$2
        shift 2
        mkdir -p "/tidb-deploy/$name/scripts"
        printf '#!/bin/bash\nset -e\ncd "/tidb-deploy/asks" || exit 1\nexec %s bin/tidb-server --anon 8M\n' "$command" \
                >"/tidb-deploy/$name/scripts/run_tidb.sh"
        chmod 755 "/tidb-deploy/$name/scripts/run_tidb.sh"
        printf '%s\n' '[Service]' 'Restart=on-failure' 'RestartSec=1s' "$@" \
                "ExecStart=/bin/bash -c '/tidb-deploy/$name/scripts/run_tidb.sh'" >"$units/$name.service"
}

cpus_of() {
        cat "/sys/devices/system/node/node$1/cpulist"
}

asks numactl 'numactl --cpunodebind=1 --membind=1'
asks physcpu "numactl -C $(cpus_of 1)"
asks taskset "taskset -c $(cpus_of 1)"
asks affinity '' "CPUAffinity=$(cpus_of 1)"
asks policy '' NUMAPolicy=bind NUMAMask=1
# shellcheck disable=SC2016 # the script's own variable
asks variable 'numactl --membind=${NODE:-1}'
asks same 'numactl --cpunodebind=0 --membind=0'
asks nothing ''
policy asks <<EOT
version: 1
policies:
  - name: asks
    match: {exe: tidb-server, unit: asks-*.service}
    place: {nodes: 0, share: shared}
EOT
systemctl daemon-reload
systemctl restart tidbnumad

allowed() {
        systemctl show -P AllowedCPUs "asks-$1"
}
prepared() {
        [[ $(allowed "$1") == "$(cpus_of 0)" ]]
}
for one in same nothing; do
        wait_until 60 "asks-$one is prepared" prepared "$one"
        ok "asks-$one is prepared"
done
# row NAME STATE WHY: what `status` says of a unit that stands still
row() {
        tidbnumactl status --all >/tmp/status || true # one of them may be a problem
        grep -E "^asks-$1 +$2 .*$3" /tmp/status || {
                cat /tmp/status
                return 1
        }
}
wait_until 60 'status has a row for what is prepared' row same prepared 'stopped; starts on node 0'
ok 'status has a row for what is prepared'
check 'and for what is not' row numactl unprepared 'stopped; '
check 'which can be asked for' tidbnumactl explain asks-same
check 'by its unit too' tidbnumactl status asks-same.service
is "$(tidbnumactl explain --json asks-same | jq -r '.unit | .state, .cpus')" "prepared
$(cpus_of 0)" 'also as JSON'
for one in numactl physcpu taskset affinity variable; do
        is "$(allowed "$one")" '' "asks-$one is not prepared for node 0"
        systemctl start "asks-$one"
done
is "$(systemctl show -P AllowedMemoryNodes asks-policy)" '' 'the memory nodes of asks-policy are not prepared'
systemctl start asks-policy
runs() {
        [[ $(systemctl show -P ActiveState "asks-$1") == active && $(systemctl show -P MainPID "asks-$1") != 0 ]] &&
                [[ $(readlink "/proc/$(systemctl show -P MainPID "asks-$1")/exe") == */tidb-server ]]
}
systemctl start asks-same asks-nothing
for one in numactl physcpu taskset affinity policy variable same nothing; do
        wait_until 60 "asks-$one runs" runs "$one"
        is "$(systemctl show -P NRestarts "asks-$one")" 0 "asks-$one runs at its first attempt"
done

# --- while they run: nothing is set on their units that their next start could not bear -------------------------------------

# state NAME: as `status` has it
state() {
        { tidbnumactl status --json "asks-$1" || true; } | jq -r '.instances[0].state'
}
reached() {
        local now
        now=$(state "$1")
        echo "asks-$1 is $now"
        [[ $now == "$2" ]]
}
untouched() {
        local cpus
        cpus=$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(main_pid "asks-$1")/status")
        echo "asks-$1: '$(allowed "$1")', threads on $cpus"
        [[ -z $(allowed "$1") && $cpus != "$(cpus_of 0)" ]]
}
for one in numactl policy; do
        wait_until 90 "asks-$one is refused" reached "$one" refused
        is "$({ tidbnumactl status --json "asks-$one" || true; } | jq -r '.instances[0].reason_code')" start-limits "asks-$one is not bound away from its memory"
        # Before Linux 6.2 its CPUs are lost once a neighbour in its slice is bound: see tidbnumad(7).
        check "asks-$one is not put on node 0" untouched "$one"
done
# The start of a neighbour has the kernel (before 6.2) give them all CPUs again, until the next sample.
by_affinity() {
        local now
        now="$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(main_pid "asks-$1")/status") $(allowed "$1")"
        echo "asks-$1 has '$now'"
        [[ $now == "$(cpus_of 0) " ]]
}
for one in taskset affinity; do
        wait_until 90 "asks-$one is bound by affinity" reached "$one" partly
        wait_until 60 "asks-$one has its CPUs" by_affinity "$one"
        ok "asks-$one is bound by affinity, and its unit is left alone"
done
wait_until 60 'asks-same is bound' reached same bound
is "$(allowed same)" "$(cpus_of 0)" 'what starts within its place is bound through its unit'
for one in numactl taskset affinity policy variable; do
        systemctl restart "asks-$one"
        wait_until 60 "asks-$one runs again" runs "$one"
        is "$(systemctl show -P NRestarts "asks-$one")" 0 "asks-$one is restarted at the first attempt"
done
tidbnumactl check --json >/tmp/check || true
is "$(jq -r '[.findings[] | select(.rule == "start") | .where] | sort | join(" ")' /tmp/check)" \
        'asks-affinity.service asks-numactl.service asks-physcpu.service asks-policy.service asks-taskset.service asks-variable.service' \
        'check names what runs and what does not'

# --- what cannot be read from it: the preparation is taken back before the next attempt ---------------------------------------

cat >/tidb-deploy/asks/hidden <<'EOT'
#!/bin/bash
taken=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
case ,$taken, in *,2,*|*-*) exec /tidb-deploy/asks/bin/tidb-server --anon 8M ;; esac
exit 7
EOT
chmod 755 /tidb-deploy/asks/hidden
# A program that is started with a file of its own, in which nothing is said of numactl.
# shellcheck disable=SC2016 # systemd makes one dollar of two
printf '%s\n' '[Service]' 'Restart=on-failure' 'RestartSec=2s' 'ExecStart=/bin/bash -c "exec $$(cat /tidb-deploy/asks/which)"' \
        >"$units/asks-hidden.service"
echo /tidb-deploy/asks/hidden >/tidb-deploy/asks/which
systemctl daemon-reload
if [[ $(cpus_of 0) == *[-,]* ]]; then
        skip 'a start that its preparation prevents' 'node 0 has more than one CPU here'
else
        wait_until 60 'asks-hidden is prepared' prepared hidden
        systemctl start asks-hidden
        wait_until 90 'asks-hidden runs' runs hidden
        ok 'a start that its preparation prevents succeeds at the next attempt'
        is "$(systemctl show -P NRestarts asks-hidden)" 1 'and at no later one'
        revoked() {
                curl -s --unix-socket /run/tidbnumad/metrics.sock http://localhost/metrics |
                        grep -x 'tidbnumad_preparations_revoked_total 1'
        }
        wait_until 60 'the metric counts it' revoked
        ok 'the metric counts it'
        told() {
                local code=0
                tidbnumactl status asks-hidden >/tmp/status || code=$?
                cat /tmp/status
                [[ $code == 3 ]] && grep -E '^  asks-hidden.service: .*taken back.*\(start-failed\)' /tmp/status
        }
        wait_until 60 'status says that its preparation was taken back' told
        ok 'and status says it'
fi

# --- a server that crashes later keeps its preparation -------------------------------------------------------------------------

ran_for_a_minute() {
        local since now
        since=$(systemctl show -P ActiveEnterTimestampMonotonic "asks-$1")
        now=$(($(uptime_ms) * 1000))
        ((now - since > 61000000))
}
wait_until 120 'asks-nothing has run for a minute' ran_for_a_minute nothing
revocations=$(metric tidbnumad_preparations_revoked_total)
before=$(main_pid asks-nothing)
kill -9 "$before"
again() {
        systemctl show -P NRestarts,ActiveState "asks-$1"
        runs "$1" && [[ $(main_pid "asks-$1") != "$before" ]]
}
wait_until 60 'asks-nothing runs again' again nothing
is "$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(main_pid asks-nothing)/status")" "$(cpus_of 0)" 'a server that crashed later starts on its CPUs'
daemon_looks
is "$(metric tidbnumad_preparations_revoked_total)" "$revocations" 'and its preparation was not taken back'
check 'but is kept' prepared nothing

# --- nor does one that no start can bear keep what it was bound by while it ran ------------------------------------------------

if runs hidden; then
        wait_until 120 'asks-hidden has run for a minute' ran_for_a_minute hidden
        wait_until 90 'asks-hidden was bound while it ran' reached hidden bound
        before=$(main_pid asks-hidden) restarts=$(systemctl show -P NRestarts asks-hidden)
        kill -9 "$before"
        wait_until 90 'asks-hidden runs again' again hidden
        ok 'what its start cannot bear is not left on its unit'
        check 'it was started twice at most' test "$(systemctl show -P NRestarts asks-hidden)" -le $((restarts + 2))
        wait_until 90 'asks-hidden is bound by affinity' reached hidden partly
        is "$(allowed hidden)" '' 'after a second failure nothing is set on its unit'
        before=$(main_pid asks-hidden)
        systemctl restart asks-hidden
        wait_until 60 'asks-hidden is restarted' again hidden
        is "$(systemctl show -P NRestarts asks-hidden)" 0 'so it is restarted at the first attempt'
else
        skip 'a start that its preparation prevents, later' 'node 0 has more than one CPU here'
fi
systemctl stop asks-nothing
wait_until 60 'status has a row for a server that was stopped' row nothing prepared 'stopped; starts on node 0'
ok 'a server that is stopped stays visible'
plan
