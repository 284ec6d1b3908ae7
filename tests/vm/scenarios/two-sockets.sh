# shellcheck shell=bash
# about: no node to spare: TiDB and TiKV on different sockets, interrupts and soft interrupts on the reserved cores alone; one-per-core
# machines: xeon2
# timeout: 600

# The policies are the example that is shipped for such a host. The witnesses are /proc/interrupts, /proc/stat and each thread's
# Cpus_allowed.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/nic.sh
. "${VM_LIB%/*}/nic.sh"

trap peer_down EXIT
card=$(nic_of_node 0)
units=(tidb-4000 tikv-20160 pd-2379)
all=$(</sys/devices/system/cpu/online)

# --- the machine -----------------------------------------------------------------------------------------------------------------

is "$(</sys/devices/system/node/node0/cpulist) $(</sys/devices/system/node/node1/cpulist)" '0-7 8-15' 'two nodes of eight CPUs'
is "$(</sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" 0-1 'a core has two threads'
is "$(</sys/devices/system/cpu/cpu8/topology/physical_package_id)" 1 'each node is a socket'
peer_up "$card" "$(nic_of_node 1)"
if [[ $VM_WIRE == tap ]]; then
        is "$(compgen -G "/sys/class/net/$card/queues/rx-*" | wc -l)" 4 'the card has four queues'
else
        ok 'the card has one queue: this host has no tap devices'
fi

# --- what the kernel says ----------------------------------------------------------------------------------------------------------

# cpus_of UNIT: of all its threads; more than one word where they differ
cpus_of() {
        kview threads "$1.service" --unique | sed 's/^cpus=\([^ ]*\) .*/\1/' | sort -u | xargs
}

# Of node 0 without the core that is reserved, or of node 1.
has_socket() {
        [[ $(cpus_of "$1") == 2-7 || $(cpus_of "$1") == 8-15 ]]
}

# The first threads of the cores of one or the other.
has_cores() {
        [[ $(cpus_of "$1") == 2,4,6 || $(cpus_of "$1") == 8,10,12,14 ]]
}

each() { # COMMAND
        local unit
        for unit in "${units[@]}"; do
                "$1" "$unit" || { echo "$unit has CPUs $(cpus_of "$unit")"; return 1; }
        done
}

# burst SECONDS: traffic; $landed: interrupts of the card outside of the reserved core meanwhile, $fired: all of them
burst() {
        local irqs before all_before
        mapfile -t irqs < <(vectors_of "$card")
        before=$(count_on '0 1' "${irqs[@]}") all_before=$(count_on all "${irqs[@]}")
        echo "$(traffic "$1") answers"
        fired=$(($(count_on all "${irqs[@]}") - all_before))
        landed=$((fired - ($(count_on '0 1' "${irqs[@]}") - before)))
        echo "$fired interrupts of $card, $landed of them not on CPUs 0-1"
}

# softirq_of FIRST LAST: the soft-interrupt time of these CPUs so far, in hundredths of a second
softirq_of() {
        awk -v first="$1" -v last="$2" '/^cpu[0-9]/ && substr($1, 4) >= first && substr($1, 4) <= last { sum += $8 }
                END { print sum }' /proc/stat
}

# --- before ------------------------------------------------------------------------------------------------------------------------

workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 8
workload_unit tikv 20160 tikv-server - --anon 32M --spread --threads 8
workload_unit pd 2379 pd-server - --anon 16M --spread --threads 4
workload_start "${units[@]}"
before=$(host_settings "$card")
burst 5
check "before: interrupts land on CPUs of databases ($landed of $fired)" test "$landed" -gt 500

# --- bound -------------------------------------------------------------------------------------------------------------------------

install_package
# The image has no documents, so the example comes from the package itself.
example=$(dpkg-deb --fsys-tarfile "$vm_payload"/debs/tidbnumad_*.deb | tar -xO ./usr/share/doc/tidbnumad/examples/xeon2-mixed.yaml)
# example [LINE]: the example, enforced, with this card, for a guest has no default route; LINE is added to each policy
example() {
        sed -e 's/^  mode: observe .*/  mode: enforce/' -e "s/^  reserve:\$/  reserve:\n    devices: [$card]/" \
                ${1:+-e "s/^    memory: .*/&\\n    $1/"} <<<"$example" | policy xeon2
        systemctl reload tidbnumad
}
example
wait_until 120 'each instance has the CPUs of one socket, less the reserved core' each has_socket
ok 'no instance may run on the reserved core'
check 'TiDB and TiKV are on different sockets' test "$(cpus_of tidb-4000)" != "$(cpus_of tikv-20160)"
check "PD is beside one of them, on CPUs $(cpus_of pd-2379)" has_socket pd-2379
steered() { metric_is "$(vectors_of "$card" | wc -l)" tidbnumad_irq_vectors "device=\"$card\",state=\"steered\""; }
wait_until 60 "all interrupts of $card are steered" steered
traffic 2 # an interrupt goes elsewhere when its next one arrives
softirq_metric=$(metric tidbnumad_node_cpu_seconds_total 'node="0",mode="softirq"')
softirq_before=$(softirq_of 0 1)
burst 8
is "$landed" 0 "after: all $fired interrupts of $card are on the reserved core"
check 'and there were thousands' test "$fired" -gt 1000
softirq=$(($(softirq_of 0 1) - softirq_before))
check "the kernel counts soft interrupts there ($softirq hundredths of a second)" test "$softirq" -gt 0

# The metric grew by what the kernel counted, or more where the daemon looked later. A tenth of a second is the slack of rounding.
grown() {
        local now
        now=$(metric tidbnumad_node_cpu_seconds_total 'node="0",mode="softirq"')
        echo "the metric grew from $softirq_metric to $now, the kernel counted $softirq hundredths of a second"
        awk -v was="$softirq_metric" -v now="$now" -v kernel="$softirq" 'BEGIN { exit !(now - was >= kernel / 100 - 0.1 && now > was) }'
}
wait_until 60 'the metric has grown as much' grown
ok 'tidbnumad_node_cpu_seconds_total{mode="softirq"} has grown as much'
check 'the status names the reserved CPUs' grep -qx 'reserved for the network: CPUs 0-1' <(tidbnumactl status --all || true)
check 'and so does the plan' grep -q 'CPUs 0-1 reserved' <(tidbnumactl plan)
reserved_finding() { { tidbnumactl check --json || true; } | jq -r '.rules[] | select(.id == "reserved-cpus" or .id == "irq") | .state' | xargs; }
is "$(reserved_finding)" 'ok ok' 'tidbnumactl check has nothing against it'

# --- one thread a core -------------------------------------------------------------------------------------------------------------

example 'cpus: one-per-core'
wait_until 60 'each instance has one thread of each core of its socket' each has_cores
ok 'cpus: one-per-core leaves the second threads free'

# --- given back --------------------------------------------------------------------------------------------------------------------

tidbnumactl release --all
has_all() { [[ $(cpus_of "$1") == "$all" ]]; }
wait_until 60 'each instance has all CPUs' each has_all
ok 'released, each thread may run on all CPUs'
given_back() { [[ ! -e /run/tidbnumad/undo/host.record ]]; }
wait_until 60 'nothing is left to be given back' given_back
is "$(diff <(echo "$before") <(host_settings "$card") | head -20)" '' 'and each mask, XPS, RPS and the sysctl are as before, byte for byte'
plan
