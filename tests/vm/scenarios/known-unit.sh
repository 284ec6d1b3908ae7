# shellcheck shell=bash
# about: a unit whose name a policy knows has its CPUs and memory nodes at the first instruction
# in turn: epyc8
# long machines: epyc8-trixie
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=/etc/systemd/system
trap 'systemctl stop "tidb@*.service" "hog*.service" "known-*.service"; rm -rf $units/tidb@.service $units/known-* \
        $units/multi-user.target.wants/tidb@*; true' EXIT

# known_unit FILE USER: starts the server itself, with nothing before it that would give anybody time.
known_unit() {
        mkdir -p /tidb-deploy/known/bin
        cp -n "$vm_payload/bin/workload" /tidb-deploy/known/bin/tidb-server
        cat >"$units/$1" <<EOT
[Service]
User=$2
ExecStart=/tidb-deploy/known/bin/tidb-server --status-first --anon 8M
[Install]
WantedBy=multi-user.target
EOT
}

# first_line UNIT: what its process said first, as "CPUS MEMS"
first_line() {
        journalctl -q -o cat "_PID=$(main_pid "$1")" |
                sed -nE 's/^Pid:\s+[0-9]+ Cpus_allowed_list:\s+(\S+) Mems_allowed_list:\s+(\S+) *$/\1 \2/p' | grep .
}

# starts_on UNIT NODE [MEMS]: starts it; its first line has the CPUs of the node, and its memory.
starts_on() {
        local cpus
        cpus=$(<"/sys/devices/system/node/node$2/cpulist")
        systemctl start "$1"
        wait_until 30 "$1 tells where it is" first_line "$1"
        is "$(first_line "$1")" "$cpus ${3:-$2}" "$1 is on node $2 from its first instruction"
}

# has UNIT CPUS MEMS: as systemd has it
has() {
        local now
        now="$(systemctl show -P AllowedCPUs "$1") $(systemctl show -P AllowedMemoryNodes "$1")"
        echo "$1 has '$now'"
        [[ $now == "$2 $3" ]]
}

said() {
        daemon_said "$cursor" | grep -F "$1"
}

all=$(</sys/devices/system/cpu/online)
all_mems=$(</sys/devices/system/node/has_memory)
cpus_of() {
        cat "/sys/devices/system/node/node$1/cpulist"
}

# --- laid out in advance --------------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --status-first --anon 8M
known_unit known-pd.service tidb
known_unit known-root.service root
known_unit tidb@.service tidb
known_unit known-users.service tidb
sed -i 's/^User=.*/&\nPrivateUsers=yes/' $units/known-users.service
systemctl daemon-reload
systemctl enable tidb@4002
policy known <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    memory: bind
    instances: [{match: {unit: tidb-4000.service}, nodes: 2}]
  - name: template
    match: {exe: tidb-server, user: tidb, unit: "tidb@*.service"}
    place: {nodes: 4}
    memory: bind
    instances: [{match: {unit: tidb@4001.service}, nodes: 3}]
  - name: known
    match: {exe: tidb-server, user: tidb, unit: "known-[!p]*.service"}
    memory: bind
    place: {nodes: 6}
    instances: [{match: {unit: known-late.service}, nodes: 5}, {match: {unit: known-full.service}, nodes: 7}]
  - name: pd
    match: {unit: known-pd.service, user: tidb}
    place: {nodes: 1}
    memory: preferred
EOT
cursor=$(journal_cursor) begin=$cursor
install_package
wait_until 30 'the daemon is up' metric_is 1 tidbnumad_ready

# The daemon's start waits for the first preparation: no polling here.
check 'a unit file is prepared when the daemon is up' has tidb-4000.service "$(cpus_of 2)" 2
check 'an enabled instance of a template too' has tidb@4002.service "$(cpus_of 4)" 4
check 'and one that the policy names' has tidb@4001.service "$(cpus_of 3)" 3
check 'memory: preferred sets the CPUs alone' has known-pd.service "$(cpus_of 1)" ''
check 'a unit of another user is not prepared' has known-root.service '' ''
check 'nor one whose processes will be in a container' has known-users.service '' ''
check 'it is told' said 'tidb-4000.service is prepared'

starts_on tidb-4000.service 2
starts_on tidb@4002.service 4
starts_on tidb@4001.service 3
starts_on known-pd.service 1 "$all_mems"
systemctl start known-root
wait_until 30 'known-root tells where it is' first_line known-root
is "$(first_line known-root)" "$all $all_mems" 'a unit of another user is where it was'
wait_until 90 'the instance path finds it bound' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"'
is "$(metric tidbnumad_bind_attempts_total 'policy="tidb"')" 0 'and had nothing to set'

# --- it comes into being later --------------------------------------------------------------------------------------

known_unit known-late.service tidb
systemctl daemon-reload
wait_until 60 'the reload of systemd prepares a new unit' has known-late.service "$(cpus_of 5)" 5
starts_on known-late.service 5

# A program that no policy names, in a unit that one does: seen below.
known_unit known-other.service tidb
sed -i 's#^ExecStart=.*#ExecStart=/bin/sleep infinity#' $units/known-other.service
systemctl daemon-reload
wait_until 60 'a unit is prepared by its name alone' has known-other.service "$(cpus_of 6)" 6
systemctl start known-other

# Who wins when the start follows at once is not promised; but signals, and not scans, must be what the daemon goes by.
won=0 races=1
[[ -z ${long:-} ]] || races=5
for ((i = 1; i <= races; i++)); do
        known_unit "known-race$i.service" tidb
        systemctl daemon-reload
        systemctl start "known-race$i"
        wait_until 30 'it tells where it is' first_line "known-race$i"
        echo "daemon-reload and start at once, $i: $(first_line "known-race$i")"
        [[ $(first_line "known-race$i") != "$(cpus_of 6) 6" ]] || won=$((won + 1))
        systemctl start "tidb@500$i"
        wait_until 30 'it tells where it is' first_line "tidb@500$i"
        echo "an unknown instance of a template, $i: $(first_line "tidb@500$i")"
done
[[ -z ${long:-} ]] ||
        check 'a start right after the reload finds a unit prepared, now and then at least' test "$won" -gt 0
wait_until 30 'an instance that nobody knew is bound while it runs' held_to tidb@5001.service 4
ok 'an instance that nobody knew is bound while it runs'
systemctl stop 'tidb@500*' 'known-race*'
rm $units/known-race*
systemctl daemon-reload

# --- the bus goes away ----------------------------------------------------------------------------------------------

cursor=$(journal_cursor)
systemctl restart dbus.service
wait_until 60 'the daemon comes back to a new bus' said 'connected to systemd on D-Bus again'
known_unit known-bus.service tidb
systemctl daemon-reload
wait_until 60 'and hears of a new unit there' has known-bus.service "$(cpus_of 6)" 6
starts_on known-bus.service 6
systemctl stop known-bus

# What fills a node, and what waits a minute, is for the long run.
if [[ -n ${long:-} ]]; then
        # No room

        free_kb=$(awk '/MemFree/ { print $4 }' /sys/devices/system/node/node7/meminfo)
        systemd-run --unit=hog --quiet "$vm_payload/bin/workload" --anon "$((free_kb - 20480))K" --spread=7:1 --port 7777
        wait_until 90 'node 7 is full' listens 7777
        known_unit known-full.service tidb
        systemctl daemon-reload
        wait_until 60 'on a full node only the CPUs are set' has known-full.service "$(cpus_of 7)" ''
        ok 'on a full node only the CPUs are set'
        check 'and it is told why' said 'too little room'
        systemctl stop hog
        wait_until 120 'memory nodes follow when there is room' has known-full.service "$(cpus_of 7)" 7
        ok 'memory nodes follow when there is room'

        # Not what the policy means

        wait_until 150 'a unit that runs something else has its values back' has known-other.service '' ''
        is "$(kview threads known-other.service --unique)" "cpus=$all mems=$all_mems" 'a unit that runs something else gets all back'
        cursor=$begin
        check 'and it is told' said 'known-other.service was prepared, but'
fi

# --- the daemon itself ----------------------------------------------------------------------------------------------

stamps() {
        find /run/systemd/system.control -type f -printf '%p %T@\n' | sort
}
systemctl stop known-late
wait_until 30 'it has ended' test "$(systemctl is-active known-late)" = inactive
before=$(stamps)
systemctl restart tidbnumad
wait_until 60 'the daemon is up again' metric_is 1 tidbnumad_ready
daemon_looks
is "$(stamps)" "$before" 'a restart of the daemon writes nothing'

# --- taken back -----------------------------------------------------------------------------------------------------

rm /etc/tidbnumad.d/known.yaml
systemctl reload tidbnumad
wait_until 30 'without its policy an idle unit has its values back' has known-late.service '' ''
systemctl start known-late
wait_until 30 'known-late tells where it is' first_line known-late
is "$(first_line known-late)" "$all $all_mems" 'without its policy an idle unit starts as it did before'
wait_until 60 'and so has one that runs' has tidb-4000.service '' ''
is "$(kview threads tidb-4000.service --unique)" "cpus=$all mems=$all_mems" 'one that runs gets all back'
plan
