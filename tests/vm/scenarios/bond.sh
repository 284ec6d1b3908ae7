# shellcheck shell=bash
# about: with the default route over a VLAN on a bond, the nodes of both cards are reserved, and their interrupts go there
# in turn: epyc8
# long machines: epyc8-bullseye epyc8-trixie
# timeout: 400

# The witnesses are the threads of the instances and the masks in /proc/irq.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

cards=("$(nic_of_node 2)" "$(nic_of_node 5)") stranger=$(nic_of_node 1)
units=(tidb-4000 tidb-4001 tidb-4002 tidb-4003 tidb-4004 tidb-4005)

trap 'ip link delete uplink.7; ip link delete uplink; true' EXIT
ip link add uplink type bond mode active-backup miimon 100
for card in "${cards[@]}"; do
        ip link set "$card" master uplink
done
ip link set uplink up
ip link add link uplink name uplink.7 type vlan id 7
ip addr add 10.98.0.1/24 dev uplink.7
ip link set uplink.7 up
has_carrier() {
        [[ $(</sys/class/net/uplink/carrier) == 1 && $(</sys/class/net/uplink.7/carrier) == 1 ]]
}
wait_until 60 'the bond is up' has_carrier
ip route add default via 10.98.0.2 dev uplink.7
ip route
ls -d /sys/class/net/uplink*/lower_*

for unit in "${units[@]}"; do
        workload_unit tidb "${unit#tidb-}" tidb-server - --anon 8M
done
workload_start "${units[@]}"
bond_policy() { # RESERVE
        policy bond <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}, memory: none}
host: {reserve: {nodes: $1}}
irq:
  - {match: {net: uplink}, steer: reserved, irqbalance: ignore}
EOT
}
pcis=("$(pci_of "${cards[0]}")" "$(pci_of "${cards[1]}")")
masks() {
        local pci
        for pci in "${pcis[@]}"; do masks_of "$pci"; done
}
before=$(masks) stranger_before=$(masks_of "$(pci_of "$stranger")")
bond_policy nic
install_package
for unit in "${units[@]}"; do
        wait_until 60 "$unit is bound" state_is "$unit" bound
done
tidbnumactl plan | tee "$ARTIFACTS/plan"

# cpus_taken: of all instances, by the kernel; a CPU a node, of its number
cpus_taken() {
        local unit
        for unit in "${units[@]}"; do
                kview threads "$unit.service" --unique | sed -E 's/cpus=([^ ]*) .*/\1/'
        done | sort -n | xargs
}
is "$(cpus_taken)" '0 1 3 4 6 7' 'six instances have the six nodes on which neither card is'

on_nodes_of_the_cards() {
        local pci irq
        for pci in "${pcis[@]}"; do
                for irq in "/sys/bus/pci/devices/$pci/msi_irqs"/*; do
                        echo "$pci, interrupt ${irq##*/}: $(<"/proc/irq/${irq##*/}/smp_affinity_list")"
                        [[ $(<"/proc/irq/${irq##*/}/smp_affinity_list") =~ ^(2|5|2,5)$ ]] || return 1
                done
        done
}
wait_until 60 'the interrupts are on the nodes of the two cards' on_nodes_of_the_cards
ok 'all interrupts of both cards are on the two nodes, by their masks'
masks
for card in "${cards[@]}"; do
        is "$(metric tidbnumad_irq_vectors "device=\"$card\",state=\"failed\"")" 0 "none of $card failed"
        check "those of $card are counted as steered" test "$(metric tidbnumad_irq_vectors "device=\"$card\",state=\"steered\"")" -ge 3
done
is "$(masks_of "$(pci_of "$stranger")")" "$stranger_before" 'the card that is not of the bond is left alone'

tidbnumactl release --all
is "$(masks)" "$before" 'released, the masks are as before'

# The same route over one card: its node alone.
tidbnumactl release --undo --all
ip route delete default
ip addr add 10.97.0.1/24 dev "$stranger"
ip link set "$stranger" up
ip route add default via 10.97.0.2 dev "$stranger"
bond_policy nic
systemctl restart tidbnumad
for unit in "${units[@]}"; do
        wait_until 60 "$unit is bound" state_is "$unit" bound
done
node_1_is_free() {
        cpus_taken
        [[ " $(cpus_taken) " != *' 1 '* ]]
}
wait_until 60 'nobody is on node 1' node_1_is_free
ok 'with the default route over the other card, its node is the one that stays free'
plan
