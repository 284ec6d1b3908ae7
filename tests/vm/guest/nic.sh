# shellcheck shell=bash
# A network card with traffic, for scenarios: its interrupts as the kernel shows them, and a peer in a network namespace that
# answers. To be sourced after lib.sh.

peer_address=10.99.0.2

# pci_of INTERFACE
pci_of() {
        basename "$(readlink -f "/sys/class/net/$1/device/..")"
}

# vectors_of INTERFACE: its interrupts
vectors_of() {
        ls "/sys/bus/pci/devices/$(pci_of "$1")/msi_irqs"
}

# masks_of PCI: every mask of its vectors, as text
masks_of() {
        local file
        for file in "/sys/bus/pci/devices/$1/msi_irqs"/*; do
                printf '%s %s\n' "${file##*/}" "$(<"/proc/irq/${file##*/}/smp_affinity_list")"
        done
}

# count_on CPUS INTERRUPT…: how often these fired there so far. CPUS: "2 3", or "all".
count_on() {
        local cpus=$1
        shift
        awk -v cpus="$cpus" -v irqs="$*" '
                BEGIN { split(cpus, c); split(irqs, i); for (k in c) cpu["CPU" c[k]]; for (k in i) irq[i[k] ":"] }
                NR == 1 { for (f = 1; f <= NF; f++) if (cpus == "all" || $f in cpu) column[f + 1]; next }
                $1 in irq { for (f in column) sum += $f }
                END { print sum + 0 }' /proc/interrupts
}

# host_settings CARD: every setting outside of processes that the daemon may change, as text
host_settings() {
        local file
        for file in /proc/irq/default_smp_affinity /proc/sys/kernel/numa_balancing \
                "/sys/class/net/$1/queues"/*/[xr]ps_cpus /proc/irq/[0-9]*/smp_affinity_list; do
                if [[ -r $file ]]; then printf '%s %s\n' "$file" "$(<"$file")"; fi
        done
}

# peer_up CARD OTHER: CARD has an address, and OTHER one in the namespace `peer`, where requests to port 7000 are answered.
peer_up() {
        ip netns add peer
        ip link set "$2" netns peer
        ip addr add 10.99.0.1/24 dev "$1"
        ip link set "$1" up
        ip -n peer addr add $peer_address/24 dev "$2"
        ip -n peer link set "$2" up
        ip netns exec peer netload serve 7000 &
        wait_until 60 'the two cards hear each other' netload ask $peer_address 7000 1 0.2
}

peer_down() {
        ip netns pids peer | xargs -r kill
        ip netns delete peer
}

# traffic SECONDS: over eight connections; prints how many answers came
traffic() {
        netload ask $peer_address 7000 8 "$1"
}
