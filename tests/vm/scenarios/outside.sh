# shellcheck shell=bash
# about: what others do to the host under a running daemon: each is survived and reported, and the next round is right
# long machines: epyc8
# timeout: 3600

# CPUs that go offline are hotplug's, drift by hand is drift's, a card that comes anew is irq-gone's.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

card=$(nic_of_node 2)
card_pci=$(pci_of "$card")
trap 'systemctl kill --signal=CONT irqbalance; systemctl stop irqbalance; ip netns delete away
        systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald' EXIT

outside_policy() {
        policy outside <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: ${1:-2}}, memory: bind}
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 5-6}, memory: bind}
sampling: {interval: 2s}
irq: [{match: {net: ["eth*", "lan*"]}, steer: "7", irqbalance: cooperate}]
EOT
}

workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 5
workload_unit tikv 20160 tikv-server - --anon 32M --spread --threads 5
mkdir -p /etc/systemd/system/tikv-20160.service.d
printf '[Service]\nSlice=db.slice\n' >/etc/systemd/system/tikv-20160.service.d/slice.conf
workload_start tidb-4000 tikv-20160
ip link set "$card" up
before=$(host_settings "$card")
install_package
outside_policy
systemctl reload tidbnumad

pids="$(main_pid tidb-4000) $(main_pid tikv-20160)"
daemon=$(main_pid tidbnumad)
home() {
        kview held "tidb-4000.service=${1:-2}" tikv-20160.service=5-6 && kview on "tidb-4000.service=${1:-2}" tikv-20160.service=5-6
}
settled() {
        state_is tidb-4000 bound && state_is tikv-20160 bound && home "$@"
}
# told CURSOR PATTERN
told() {
        daemon_said "$1" | grep -E "$2"
}
# survived WHAT: the same daemon, the same processes, and all is at home once more
survived() {
        wait_until 540 "$1: all is at home" settled "${2:-2}"
        is "$(main_pid tidbnumad)" "$daemon" "$1: survived, and the next round is right"
}
wait_until 360 'both are bound' settled
ok 'both are bound'

# --- memory of a node goes offline, and comes back --------------------------------------------------------------------------------

has_total() { [[ $(metric tidbnumad_node_memory_bytes 'node="5".*state="total"') == "$total" ]]; }
memory_part() {
        # Blocks with memory that the kernel cannot move refuse.
        offlined=()
        for block in /sys/devices/system/node/node[1456]/memory*/state; do
                ! echo offline >"$block" 2>/dev/null || offlined+=("$block")
        done
        echo "offline: ${offlined[*]:-none}"
        grep -H MemTotal /sys/devices/system/node/node*/meminfo
        daemon_looks
        daemon_looks
        if ((${#offlined[@]} > 0)); then
                survived "${#offlined[@]} blocks of memory offline"
                total=$(awk '$3 == "MemTotal:" { print $4 * 1024 }' /sys/devices/system/node/node5/meminfo)
                has_total || scrape | grep -E 'node_memory.*node="5"'
                for block in "${offlined[@]}"; do echo online >"$block"; done
                survived 'and online again'
        fi
}

# --- the cpuset of its slice is narrowed from outside -----------------------------------------------------------------------------

narrowed() { [[ $(kview threads tikv-20160.service --unique) == 'cpus=5 mems=5' ]]; }
too_tight() { state_is tikv-20160 refused 'does a slice above the unit allow less?'; }
cpuset_part() {
        cursor=$(journal_cursor)
        systemctl set-property --runtime db.slice AllowedCPUs=0-5 AllowedMemoryNodes=0-5
        wait_until 180 'the kernel leaves it what both allow' narrowed
        wait_until 270 'a slice that leaves less than planned is reported' too_tight
        ok 'a slice that leaves less than planned is reported'
        systemctl set-property --runtime db.slice AllowedCPUs=0-3 AllowedMemoryNodes=0-3
        for _ in {1..3}; do
                daemon_looks
                check 'a slice that leaves nothing is reported in each round' too_tight
        done
        is "$(daemon_said "$cursor" | grep -c 'something else' || true)" 0 'a slice is nobody who changes the unit, and nothing is repaired'
        # Emptied properties would leave the group as it is: the kernel takes no empty set from systemd while processes are in it.
        systemctl set-property --runtime db.slice AllowedCPUs=0-7 AllowedMemoryNodes=0-7
        survived 'its slice is wide again'
}

# --- its group is taken from it -----------------------------------------------------------------------------------------------------

removed() { rmdir "$group" 2>/dev/null || [[ ! -d $group ]]; }
group_part() {
        cursor=$(journal_cursor)
        group=$(group_of tidb-4000)
        mkdir /sys/fs/cgroup/system.slice/outside
        echo "${pids% *}" >/sys/fs/cgroup/system.slice/outside/cgroup.procs
        wait_until 20 'its group is removed' removed
        daemon_looks
        daemon_looks
        is "$(main_pid tidbnumad)" "$daemon" 'a process in a group of somebody else, its own removed: survived'
        scrape /status | jq '.instances[] | select(.name | test("tidb")) | del(.memory_by_node)'
        daemon_said "$cursor"
        systemctl restart tidb-4000
        wait_until 180 'it listens again' listens 4000
        pids="$(main_pid tidb-4000) ${pids#* }"
        rmdir /sys/fs/cgroup/system.slice/outside
        survived 'restarted in its group'
}

# --- its unit is masked ----------------------------------------------------------------------------------------------------------------

masked() { scrape /status | jq -e '.instances[] | select(.name == "tidb-4000") | .reason | contains("masked")' || told "$cursor" 'masked'; }
masked_part() {
        cursor=$(journal_cursor)
        mv /etc/systemd/system/tidb-4000.service /run/outside.service
        ln -s /dev/null /etc/systemd/system/tidb-4000.service
        systemctl daemon-reload
        outside_policy 3
        systemctl reload tidbnumad
        wait_until 270 'that its unit is masked is reported' masked
        ok 'that a unit is masked is reported'
        scrape /status | jq '.instances[] | select(.name | test("tidb")) | del(.memory_by_node)'
        rm /etc/systemd/system/tidb-4000.service
        mv /run/outside.service /etc/systemd/system/tidb-4000.service
        systemctl daemon-reload
        survived 'unmasked' 3
        outside_policy
        systemctl reload tidbnumad
        survived 'and back'
}

# --- PID 1 and the bus ------------------------------------------------------------------------------------------------------------------

systemd_part() {
        cursor=$(journal_cursor)
        for what in daemon-reload daemon-reexec 'restart dbus' daemon-reexec; do
                # shellcheck disable=SC2086 # words
                systemctl $what
                outside_policy 3
                systemctl reload tidbnumad
                survived "$what in the middle of a change" 3
                outside_policy
                systemctl reload tidbnumad
        done
        survived 'and all of that'
        check 'the new bus is reported' told "$cursor" 'connected to systemd on D-Bus again'
}

# --- the journal ---------------------------------------------------------------------------------------------------------------------------

tells_again() { journalctl -q --after-cursor="$cursor" _SYSTEMD_UNIT=tidbnumad.service + UNIT=tidbnumad.service | grep -q .; }
journal_part() {
        # hung, killed, stopped with its sockets: meanwhile a unit is bound as quickly as ever
        journald=$(main_pid systemd-journald)
        moved_while() {
                outside_policy 3
                kill -HUP "$daemon"
                wait_until 360 "the journal is $1: a change is carried out" home 3
                outside_policy
                kill -HUP "$daemon"
                wait_until 360 "the journal is $1: and back" home
        }
        kill -STOP "$journald"
        moved_while hung
        kill -CONT "$journald"
        survived 'a journal that hangs'
        kill -KILL "$journald"
        moved_while killed
        survived 'a journal that is killed'
        systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket systemd-journald
        moved_while stopped
        systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald
        survived 'a journal that is stopped'
        cursor=$(journal_cursor)
        outside_policy
        systemctl reload tidbnumad
        wait_until 180 'the journal has its messages again' tells_again
        ok 'the journal has its messages again'
}

# --- irqbalance is killed, and hangs -------------------------------------------------------------------------------------------------------

knows() { scrape /status | jq -e '.interrupts.irqbalance.sent'; }
irqbalance_part() {
        systemctl start irqbalance
        wait_until 270 'irqbalance knows which interrupts to leave alone' knows
        cursor=$(journal_cursor)
        systemctl kill --signal=KILL irqbalance
        systemctl reset-failed irqbalance || true
        systemctl start irqbalance
        wait_until 270 'that irqbalance is another process is reported' told "$cursor" 'irqbalance was replaced|irqbalance .* was sent'
        wait_until 270 'an irqbalance that was killed is told anew' knows
        ok 'an irqbalance that was killed is told anew, which is reported'
        systemctl kill --signal=STOP irqbalance
        outside_policy 3
        systemctl reload tidbnumad
        survived 'an irqbalance that hangs' 3
        outside_policy
        systemctl reload tidbnumad
        systemctl kill --signal=KILL irqbalance
        survived 'and is killed then'
}

# --- the card is renamed, and goes into another network namespace -----------------------------------------------------------------------

# card_is NAME: all its masks are on CPU 7, and it is counted under that name
card_is() { # x masks are on CPU 7, and it is counted under that name
        local mask
        for mask in $(masks_of "$card_pci" | cut -d' ' -f2); do [[ $mask == 7 ]] || return 1; done
        scrape | grep -q "^tidbnumad_irq_vectors{device=\"$1\".*state=\"steered\"} [1-9]"
}
no_former() { ! scrape | grep -q "device=\"$card\""; }
elsewhere() { told "$cursor" "^$card_pci: .*another network namespace"; }
free() { cpus_open tidb-4000 && cpus_open tikv-20160; }
as_before() { diff <(echo "$before") <(host_settings "$card") && no_records; }
card_part() {
        wait_until 180 "$card is steered" card_is "$card"
        cursor=$(journal_cursor)
        ip link set "$card" down
        ip link set "$card" name lan0
        ip link set lan0 up
        wait_until 180 'a renamed card is steered under its new name' card_is lan0
        ok 'a renamed card is steered under its new name'
        wait_until 180 'nothing is counted under the former one' no_former
        ok 'and nothing is counted under the former one'
        is "$(daemon_said "$cursor" 4 | grep -c 'keeps changing\|something else' || true)" 0 'a new name is nobody who interferes'

        ip netns add away
        ip link set lan0 netns away
        wait_until 180 'that a card is in another network namespace is reported' elsewhere
        ok 'that a card is in another network namespace is reported'
        drop_policy outside
        wait_until 360 'without a policy the instances are released' free
        daemon_looks
        ip -n away link set lan0 netns 1
        ip link set lan0 down
        ip link set lan0 name "$card"
        ip link set "$card" up
        wait_until 270 'back from there, the card has every setting that it had before' as_before
        ok 'a card that was renamed, moved away and released there has all its settings back when it returns'
}

# --- all parts, or those that run --set "outside_parts=…" names ----------------------------------------------------------------------

for part in ${outside_parts:-memory cpuset group masked systemd journal irqbalance card}; do
        step "$part"
        "${part}_part"
done
is "$(main_pid tidbnumad)" "$daemon" 'it is the same daemon to the end'
is "$(main_pid tidb-4000) $(main_pid tikv-20160)" "$pids" 'and the processes are the same'
is "$(systemctl show -P NRestarts tidbnumad)" 0 'which never had to be started again'
plan
