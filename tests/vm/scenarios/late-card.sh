# shellcheck shell=bash
# about: a default route that comes after the daemon, as by DHCP in a boot, reserves the node of its card; one that goes moves nothing
# long machines: epyc8
# timeout: 400

# The witnesses are the threads of the instances and the masks in /proc/irq.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

card=$(nic_of_node 2) other=$(nic_of_node 1)
units=(tidb-4000 tidb-4001 tidb-4002 tidb-4003 tidb-4004 tidb-4005 tidb-4006)
echo 0 | tee /proc/sys/net/ipv6/conf/*/accept_ra
ip route flush default
ip -6 route flush default
trap 'ip route flush default; ip addr flush dev $card; ip addr flush dev $other' EXIT
ip addr add 10.98.0.1/24 dev "$card"
ip addr add 10.97.0.1/24 dev "$other"
ip link set "$card" up
ip link set "$other" up
for unit in "${units[@]}"; do
        workload_unit tidb "${unit#tidb-}" tidb-server - --anon 8M
done
workload_start "${units[@]}"
policy late <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}, place: {avoid: 0}}
host: {reserve: {nodes: nic}}
irq:
  - {match: {net: "*"}, steer: reserved, irqbalance: ignore}
EOT
install_package
all_bound() {
        local unit
        for unit in "${units[@]}"; do state_is "$unit" bound || return 1; done
}
# cpus_taken: of all instances, by the kernel; a CPU a node, of its number
cpus_taken() {
        local unit
        for unit in "${units[@]}"; do
                kview threads "$unit.service" --unique | sed -E 's/cpus=([^ ]*) .*/\1/'
        done | sort -n | xargs
}
wait_until 120 'the instances are bound' all_bound
is "$(cpus_taken)" '1 2 3 4 5 6 7' 'without a default route all nodes are used'
systemctl stop tidb-4006
unset 'units[6]'
policy late <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}}
host: {reserve: {nodes: nic}}
irq:
  - {match: {net: "*"}, steer: reserved, irqbalance: ignore}
EOT
systemctl reload tidbnumad

ip route add default via 10.98.0.2 dev "$card"
leaves_node_2() {
        all_bound && cpus_taken && [[ " $(cpus_taken) " != *' 2 '* ]]
}
wait_until 60 'nobody is on the node of the card' leaves_node_2
ok 'once the route is there, no instance is on the node of its card'
steered() {
        masks_of "$(pci_of "$card")"
        [[ $(masks_of "$(pci_of "$card")" | cut -d' ' -f2 | sort -u) == 2 ]]
}
wait_until 60 'its interrupts are there' steered
ok 'and its interrupts are'

taken=$(cpus_taken)
ip route replace default via 10.97.0.2 dev "$other"
daemon_looks
daemon_looks
ip route flush default
daemon_looks
daemon_looks
is "$(cpus_taken)" "$taken" 'a route that changes or goes moves nothing'
check 'nor the interrupts' steered
plan
