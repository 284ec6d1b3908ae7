# shellcheck shell=bash
# about: interrupts come back though their policy is gone or their card came anew; irqbalance survives a halt
# long machines: epyc8
# timeout: 900

# The witnesses are the masks in /proc/irq and /sys/class/net, read by this script.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

card=$(nic_of_node 2)
disk=$(basename "$(readlink -f /sys/block/vda/device/..)")

# masks_of PCI: of its vectors, in their order
masks_of() {
        local irq
        for irq in $(find "/sys/bus/pci/devices/$1/msi_irqs" -mindepth 1 -printf '%f\n' | sort -n); do
                cat "/proc/irq/$irq/smp_affinity_list"
        done
}

# queues_of INTERFACE
queues_of() {
        local file
        for file in "/sys/class/net/$1/queues"/*/[xr]ps_cpus; do
                ! cat "$file" >/dev/null 2>&1 || echo "${file#*/queues/}:$(<"$file")"
        done
}

# everything that the daemon may have changed, but for the card's name
settings() {
        cat /proc/irq/default_smp_affinity
        masks_of "$card_pci"
        queues_of "$card"
        masks_of "$disk"
}

irq_policy() { # IRQBALANCE
        policy irq <<EOT
version: 1
irq:
  - {match: {net: ["eth*"]}, steer: away, irqbalance: $1}
  - {match: {pci: ["$disk"]}, steer: away, irqbalance: $1}
EOT
}

given_back() { [[ ! -e /run/tidbnumad/undo/host.record ]]; }
card_is_steered() { metric_is "$vectors" tidbnumad_irq_vectors "device=\"$card\",state=\"steered\""; }
steer() {
        irq_policy "$1"
        systemctl reload tidbnumad
        wait_until 30 "$card is steered" card_is_steered
}
unsteer() {
        drop_policy irq
        wait_until 30 'nothing is left to be given back' given_back
}

card_pci=$(pci_of "$card")
vectors=$(masks_of "$card_pci" | wc -l)
trap 'systemctl kill --signal=CONT irqbalance; systemctl stop irqbalance' EXIT
workload_unit tikv 20160 tikv-server - --anon 24M --threads 4
workload_start tikv-20160
policy tikv <<EOT
version: 1
policies:
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 2-5}, memory: none}
EOT
ip link set "$card" up
before=$(settings)
echo "$card at $card_pci, the disk at $disk:" && settings
install_package
wait_until 60 'the instance is bound' metric_is 1 tidbnumad_instance_bound 'name="tikv-20160".*kind="cpu"'

# --- no policy names it any more -------------------------------------------------------------------------------------------------

steer ignore
disk_is_steered() { [[ $(masks_of "$disk") != "$(tail -n "$(masks_of "$disk" | wc -l)" <<<"$before")" ]]; }
check 'a disk that only its address names is steered' disk_is_steered
check 'and the card' test "$(settings)" != "$before"
unsteer
is "$(diff <(echo "$before") <(settings))" '' 'without the policy all is as before, byte for byte'
steer ignore
rm /etc/tidbnumad.d/irq.yaml
kill_daemon
wait_until 60 'it is given back by another life of the daemon' given_back
is "$(diff <(echo "$before") <(settings))" '' 'and so it is where the policy went while the daemon was dead'

# --- one that came anew --------------------------------------------------------------------------------------------------------------

steer ignore
echo 1 >"/sys/bus/pci/devices/$card_pci/remove"
gone() { [[ ! -e /sys/class/net/$card ]]; }
wait_until 20 'the device is gone' gone
echo 1 >/sys/bus/pci/rescan
back() { nic_of_node 2 && (($(masks_of "$card_pci" | wc -l) >= vectors)); }
wait_until 30 'the device is back' back
card=$(nic_of_node 2) # which may have another name now
ip link set "$card" up
daemon_looks
wait_until 30 "$card is steered" card_is_steered
unsteer
echo "now:" && settings
is "$(diff <(echo "$before") <(settings))" '' 'a device that came while it was steered has the masks that the kernel gives'

# --- irqbalance hangs ------------------------------------------------------------------------------------------------------------------

systemctl start irqbalance
has_socket() { compgen -G '/run/irqbalance/irqbalance*.sock'; }
wait_until 30 'irqbalance has its socket' has_socket
pid=$(systemctl show -p MainPID --value irqbalance)
systemctl kill --signal=STOP irqbalance
cursor=$(journal_cursor)
irq_policy cooperate
systemctl reload tidbnumad
is_told() { daemon_said "$cursor" 4 | grep 'irqbalance .*does not answer'; }
wait_until 60 'that it does not answer is told' is_told
ok 'an irqbalance that hangs is told'
systemctl kill --signal=CONT irqbalance
knows() { scrape /status | jq -e '.interrupts.irqbalance.sent'; }
wait_until 60 'irqbalance is told once it goes on' knows
is "$(systemctl show -p MainPID --value irqbalance)" "$pid" 'irqbalance goes on, and is the same process'
plan
