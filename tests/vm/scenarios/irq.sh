# shellcheck shell=bash
# about: interrupts leave the CPUs of instances, stay away, and come back to where they were; with irqbalance and without
# in turn: epyc8
# long machines: epyc8-cgroup1 epyc8-bullseye epyc8-trixie arm16 rpm-bullseye rpm-bookworm rpm-trixie rpm-cgroup1
# timeout: 1500

# Two NICs on one wire: that of node 2 is the host's, that of node 5 its peer in a network namespace. The witnesses are
# /proc/interrupts and the masks in /proc/irq, read by this script. Who else sets masks, irqbalance above all, and devices that
# go and come are for the long run.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

card=$(nic_of_node 2) other=$(nic_of_node 5)
many=300 # that a burst has at least, on a host that is busy with other things as well; else there are thousands

# --- what the kernel says --------------------------------------------------------------------------------------------------------

# burst SECONDS: traffic both ways; $landed: interrupts of eth1 on the instances' CPUs, $fired: on all, meanwhile
burst() {
        local irqs before all_before answers
        irqs=$(vectors_of "$card" | xargs)
        # shellcheck disable=SC2086
        before=$(count_on "$taken" $irqs) all_before=$(count_on all $irqs)
        answers=$(traffic "$1")
        # shellcheck disable=SC2086
        landed=$(($(count_on "$taken" $irqs) - before)) fired=$(($(count_on all $irqs) - all_before))
        echo "$answers answers, $fired interrupts of $card, $landed of them on CPUs $taken"
}

# queue_irqs: the interrupts of the queues of $card
queue_irqs() {
        local irq
        for irq in $(vectors_of "$card"); do
                ! grep -qE "^ *$irq:.*-(input|output)\." /proc/interrupts || echo "$irq"
        done
}

# are_off FILE INTERRUPT…: none of them may fire on the instances' CPUs, by that file of the kernel: smp_affinity, what was asked
# for, or effective_affinity, where it goes
are_off() {
        local irq cpu file=$1
        shift
        for irq; do
                for cpu in $taken; do
                        mask_has "$(<"/proc/irq/$irq/$file")" "$cpu" || continue
                        echo "interrupt $irq, $file: $(<"/proc/irq/$irq/$file")"
                        return 1
                done
        done
}

masks_are_off() {
        # shellcheck disable=SC2046
        are_off smp_affinity $(queue_irqs)
}

# fire: traffic for a moment; $fired_irqs: the queues' interrupts that came meanwhile
fire() {
        local irq
        local -A former=()
        for irq in $(queue_irqs); do former[$irq]=$(count_on all "$irq"); done
        traffic 2
        fired_irqs=()
        for irq in "${!former[@]}"; do
                [[ ${former[$irq]} == "$(count_on all "$irq")" ]] || fired_irqs+=("$irq")
        done
        echo "fired: ${fired_irqs[*]}"
}

# mask_has MASK CPU: MASK in hexadecimal, of fewer than 64 CPUs
mask_has() {
        (((16#${1//,/} >> $2) & 1))
}

# --- what the daemon says ----------------------------------------------------------------------------------------------------------

vectors_are() { # STATE NUMBER DEVICE
        metric_is "$2" tidbnumad_irq_vectors "device=\"$3\",state=\"$1\""
}

writes() {
        metric tidbnumad_irq_writes_total
}

# irqbalance_setup: what irqbalance itself answers
irqbalance_setup() {
        python3 - "$(compgen -G '/run/irqbalance/irqbalance*.sock' | head -1)" <<'EOT'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(b"setup\0")
print(s.recv(65536).decode())
EOT
}

banned_is() {
        local now
        now=$(irqbalance_setup)
        echo "$now"
        [[ $now == *"BANNED "* ]] && ((16#$(sed 's/.*BANNED //; s/,//g' <<<"$now") == 16#$1))
}

# --- the host ----------------------------------------------------------------------------------------------------------------------

echo "the wire is of kind $VM_WIRE"
card_pci=$(pci_of "$card") other_pci=$(pci_of "$other")
trap 'peer_down; systemctl stop irqbalance; rm -rf /run/systemd/system/irqbalance.service.d
        systemctl daemon-reload' EXIT
peer_up "$card" "$other"
queues=$(compgen -G "/sys/class/net/$card/queues/rx-*" | wc -l)
echo "$card has $queues queues, interrupts: $(vectors_of "$card" | xargs)"
if [[ $VM_WIRE == tap ]]; then
        is "$queues" 4 'a card with four queues'
else
        ok "a card with $queues queue: this host has no tap devices"
fi
vectors=$((2 * queues + 1))

# Instances on CPUs that serve the card, whatever the driver has chosen.
workload_unit tidb 4000 tidb-server - --anon 24M --threads 4
workload_unit tikv 20160 tikv-server - --anon 24M --threads 4
workload_start tidb-4000 tikv-20160
taken='2 3 4 5'
irq_policy() { # STEER IRQBALANCE [numa_balancing]
        local disks=away
        [[ $1 != leave ]] || disks=leave
        policy irq <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: 2-3}, memory: none}
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 4-5}, memory: none}
host: {numa_balancing: ${3:-leave}}
irq:
  - {match: {net: ["eth*"]}, steer: $1, irqbalance: $2}
  - {match: {nvme: ["nvme*"]}, steer: $disks, irqbalance: $2}
  - {match: {pci: ["$disk"]}, steer: $disks, irqbalance: $2}
EOT
}
disk=$(basename "$(readlink -f /sys/block/vda/device/..)")
before=$(host_settings "$card") card_before=$(masks_of "$card_pci") other_before=$(masks_of "$other_pci")
cursor=$(journal_cursor)
irq_policy leave ignore
install_package
wait_until 60 'the instances are bound' metric_is 1 tidbnumad_instance_bound 'name="tikv-20160".*kind="cpu"'
wait_until 60 'the instances are bound' metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="cpu"'
burst 10
check 'before: hundreds of interrupts land on the CPUs of instances' test "$landed" -gt $many
daemon_looks
counted() { metric tidbnumad_irq_on_instance_cpus_total "device=\"$card\"" | awk -v many=$many '{ s += $1 } END { print s; exit !(s > many) }'; }
wait_until 30 'they are counted' counted
ok 'and are counted by device and instance'
is "$(writes)" 0 'steer: leave writes nothing'

# --- steered -----------------------------------------------------------------------------------------------------------------------

irq_policy away ignore off
systemctl reload tidbnumad
wait_until 30 "$card is steered" vectors_are steered "$vectors" "$card"
ok "all $vectors interrupts of $card are steered"
check 'by the kernel, its queues may not fire on the CPUs of instances' masks_are_off
fire # an interrupt goes elsewhere when its next one arrives
check 'and from then on each goes elsewhere' are_off effective_affinity "${fired_irqs[@]}"
burst 10
is "$landed" 0 "after it: none of $fired lands there"
check 'though there were hundreds' test "$fired" -gt $many
balancing_is() { [[ $(</proc/sys/kernel/numa_balancing) == "$1" ]]; }
wait_until 30 'numa_balancing is off' balancing_is 0
ok 'numa_balancing is off'
# What belongs to no instance: the command returns when it is done, and what the daemon did by a unit is nobody else's.
said=$(tidbnumactl release host)
check 'release host returns when numa_balancing is as it was' balancing_is 1
check 'and says so' grep -q '^host: released' <<<"$said"
tidbnumactl release --undo host
wait_until 30 'numa_balancing is off again' balancing_is 0
is "$(daemon_said "$cursor" | grep 'something else changed kernel.numa_balancing')" '' 'and nobody else is blamed for it'
scrape /status | jq .interrupts
# The CPUs that send by a queue are many, and one of them is that on which it and its receive queue fire.
xps_follows() {
        local irq queue
        for irq in $(queue_irqs); do
                queue=$(sed -nE "s/^ *$irq:.*-input\\.([0-9]+)\$/\\1/p" /proc/interrupts)
                [[ -n $queue ]] || continue
                echo "queue $queue: CPU $(<"/proc/irq/$irq/smp_affinity_list"), xps_cpus $(<"/sys/class/net/$card/queues/tx-$queue/xps_cpus")"
                mask_has "$(<"/sys/class/net/$card/queues/tx-$queue/xps_cpus")" "$(<"/proc/irq/$irq/smp_affinity_list")" || return 1
        done
}
if ((queues > 1)); then # a card with one queue has no such mask
        check 'transmit queue i is sent by from where receive queue i fires' xps_follows
fi
for disk_node in 3 6; do
        nvme=$(basename "$(nvme_of_node $disk_node)" n1)
        check "vectors of $nvme, node $disk_node, that the kernel has chosen CPUs for are counted" \
                test "$(metric tidbnumad_irq_vectors "device=\"$nvme\",state=\"managed\"")" -ge 1
        is "$(metric tidbnumad_irq_vectors "device=\"$nvme\",state=\"failed\"")" 0 'and none of them failed'
done
check 'those of the disk as well, which only a write has told' test "$(metric tidbnumad_irq_vectors "device=\"$disk\",state=\"managed\"")" -ge 1
is "$(masks_of "$other_pci")" "$other_before" 'the card in the other network namespace is left alone'
other_is_told() {
        daemon_said "$cursor" | grep "^$other_pci: .*another network namespace"
}
wait_until 60 'it is told' other_is_told
ok 'and told'
check 'and counted' vectors_are left $vectors "$other_pci"
daemon_looks
written=$(writes) end=$((SECONDS + ${long:+60} + 12))
while ((SECONDS < end)); do sleep 1; done # a quiet time, which is what is tested
is "$(writes)" "$written" "in a quiet time of ${long:+a minute and }12 s nothing is written (so far: $written)"

# --- queues that change ------------------------------------------------------------------------------------------------------------

# watch_masks: from now on, whether queues of the card may fire on the CPUs of instances, by the masks in /proc/irq
watch_masks() {
        maskwatch "$card_pci" "${taken// /,}" >"$ARTIFACTS/masks" &
        watcher=$!
        wait_until 60 'the masks are watched' grep -q ready "$ARTIFACTS/masks"
}

# steered_within MS WHAT
steered_within() {
        local took
        wait "$watcher"
        took=$(tail -n 1 "$ARTIFACTS/masks")
        check "$2: its masks were elsewhere for no longer than $1 ms ($took)" test "$took" -le "$1"
}

if [[ $VM_WIRE == tap ]]; then
        cursor=$(journal_cursor)
        watch_masks
        ethtool -L "$card" combined 2
        steered_within 2000 'ethtool -L from 4 to 2'
        watch_masks
        ethtool -L "$card" combined 4
        steered_within 2000 'and to 4 again'
        check 'that is no quarrel' test -z "$(daemon_said "$cursor" 5)"
        traffic 2
        burst 5
        is "$landed" 0 "and none of $fired lands on the instances"
fi

# --- given back --------------------------------------------------------------------------------------------------------------------

# The vector of its controller's own queue, the one that takes a mask, is off the instances' CPUs.
masks_of_disk_are_off() {
        are_off smp_affinity "$(sed -nE 's/^ *([0-9]+):.*nvme0q0$/\1/p' /proc/interrupts)"
}
given_back() { [[ ! -e /run/tidbnumad/undo/host.record ]]; }
release() {
        tidbnumactl release --all
        wait_until 30 'numa_balancing is as it was' balancing_is 1
        wait_until 30 'nothing is left to be given back' given_back
}
resume() {
        tidbnumactl release --undo --all
        wait_until 60 "resumed, $card is steered again" vectors_are steered "$vectors" "$card"
}
tidbnumactl pause # which stops what the daemon does by itself, and not what is asked for
release
is "$(diff <(echo "$before") <(host_settings "$card") | head -20)" '' 'paused, it gives back what is asked for: each mask, XPS, RPS, the default and the sysctl are as before, byte for byte'
tidbnumactl resume
[[ -n ${long:-} ]] || { plan; exit; }
resume
tidbnumactl release "$card"
is "$(masks_of "$card_pci")" "$card_before" 'released by its name, the card has the masks that it had'
check 'and nothing else was released' masks_of_disk_are_off
tidbnumactl release --undo "$card"
wait_until 20 "$card is steered again" vectors_are steered "$vectors" "$card"

# --- somebody else -----------------------------------------------------------------------------------------------------------------

irq=$(vectors_of "$card" | sed -n 2p)
cursor=$(journal_cursor)
wanted=$(<"/proc/irq/$irq/smp_affinity_list")
echo 2 >"/proc/irq/$irq/smp_affinity_list"
mask_is() { [[ $(<"/proc/irq/$1/smp_affinity_list") == "$2" ]]; }
wait_until 20 'a mask that somebody else sets is put back' mask_is "$irq" "$wanted"
ok 'a mask that somebody else sets is put back'
check 'and told' grep -q "something else changed .*interrupt $irq .*to 2 " <(daemon_said "$cursor")
for _ in 1 2 3; do
        echo 2 >"/proc/irq/$irq/smp_affinity_list"
        contested_or_back() { mask_is "$irq" "$wanted" || metric_is 1 tidbnumad_irq_vectors "device=\"$card\",state=\"contested\""; }
        wait_until 20 'it is put back, or given up' contested_or_back
done
wait_until 20 'the fourth time in a minute it is contested' vectors_are contested 1 "$card"
is "$(<"/proc/irq/$irq/smp_affinity_list")" 2 'what is contested is left to the other'
check 'and told' grep -q "keeps changing" <(daemon_said "$cursor" 4)
echo "$wanted" >"/proc/irq/$irq/smp_affinity_list"
wait_until 20 'it is given up by the other' vectors_are contested 0 "$card"

# --- irqbalance ----------------------------------------------------------------------------------------------------------------------

# What it had itself: its environment bans CPU 7.
mkdir -p /run/systemd/system/irqbalance.service.d
printf '[Service]\nEnvironment=IRQBALANCE_BANNED_CPUS=80 IRQBALANCE_BANNED_CPULIST=7\n' >/run/systemd/system/irqbalance.service.d/vm.conf
systemctl daemon-reload
systemctl start irqbalance
wait_until 40 'irqbalance keeps to its environment' banned_is 80
irq_policy away ban off
systemctl reload tidbnumad
wait_until 40 'irqbalance knows which CPUs are taken' banned_is bc
ok 'irqbalance is told which CPUs are taken, beside what it had itself'
bans() { irqbalance_setup | grep -o 'IRQ ' | wc -l; }
check 'and which interrupts' test "$(bans)" -ge "$vectors"

# Whatever irqbalance is told, it places everything again 10 to 18 s later, and what it moved then is put back within 3 s. A steady
# state is what is tested.
settles() { sleep 25; }

# few_land WHAT: none of the interrupts of a burst of 10 s fires on the instances' CPUs; with an irqbalance that is ignored, no more
# than a tenth: one vector of several in the 3 s until its mask is put back
few_land() {
        local most=0
        burst 10
        [[ $1 != ignore:* ]] || most=$((fired / 10))
        check "$1, $landed of $fired land on the instances, no more than $most" test "$landed" -le "$most"
}

# quiet_with MODE [MOST]: irqbalance has run for a while, and after its restart again. MOST: masks written in a quiet minute;
# an irqbalance that is ignored moves one now and then by its load, which is put back.
quiet_with() {
        local written
        settles
        few_land "$1: with irqbalance"
        systemctl restart irqbalance
        sleep 30 # what is tested is the state then
        few_land "$1: 30 s after a restart of irqbalance"
        wait_until 5 'the masks are elsewhere' masks_are_off
        daemon_looks
        written=$(writes)
        sleep 60 # a quiet minute
        written=$(($(writes) - written))
        check "$1: masks written in a quiet minute: $written, no more than ${2:-0}" test $written -le "${2:-0}"
}
quiet_with ban
irq_policy auto cooperate off
systemctl reload tidbnumad
wait_until 60 'irqbalance keeps the distribution' vectors_are left "$vectors" "$card"
wait_until 90 'irqbalance has moved them' masks_are_off
traffic 2
quiet_with cooperate
# What is steered, a vector of each disk, is banned; what irqbalance distributes itself is not.
card_bans() { irqbalance_setup | grep -cwE "IRQ ($(vectors_of "$card" | paste -sd'|'))"; }
check "irqbalance leaves the steered vectors of disks alone ($(bans))" test "$(bans)" -ge 1
is "$(card_bans)" 0 'and none of the card, which it distributes'
irq_policy away ignore off
systemctl reload tidbnumad
wait_until 60 'with ignore, it has what it had' banned_is 80
wait_until 60 "$card is steered" vectors_are steered "$vectors" "$card"
quiet_with ignore 3
irq_policy away ban off
systemctl reload tidbnumad
wait_until 60 'irqbalance knows which CPUs are taken' banned_is bc
release
wait_until 60 'irqbalance has what it had itself' banned_is 80
ok 'irqbalance has what it had itself'
systemctl stop irqbalance
resume

# --- a device that goes and comes ----------------------------------------------------------------------------------------------------

# A device that is removed and found again has new interrupts: nothing of it is as before.
watch_masks
echo 1 >"/sys/bus/pci/devices/$card_pci/remove"
gone() { [[ ! -e /sys/class/net/$card ]]; }
wait_until 20 'the device is gone' gone
echo 1 >/sys/bus/pci/rescan
back() { nic_of_node 2 && (($(vectors_of "$(nic_of_node 2)" | wc -l) >= vectors)); }
wait_until 30 'the device is back' back
card=$(nic_of_node 2) # which may have another name now
steered_within 2000 'a device removed and found again'
check 'by the kernel, its queues may not fire on the CPUs of instances' masks_are_off
wait_until 20 'all its interrupts are counted again' vectors_are steered "$vectors" "$card"
plan
