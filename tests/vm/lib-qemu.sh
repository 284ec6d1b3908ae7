# shellcheck shell=bash
# QEMU's command line for the loaded machine, and the wire between its network cards. To be sourced by lib-host.sh.

# shellcheck disable=SC2054  # commas are QEMU's
# shellcheck disable=SC2154  # the machine and tmp are lib-host.sh's

declare -a host_links=()
wire=''

# By architecture: the program and its package; the board, whose firmware describes the nodes; and the serial console.
# On the Arm board PCI host bridges have a node only in ACPI's tables, so it boots by UEFI.
declare -rA QEMU_PROGRAM=([amd64]=qemu-system-x86_64:qemu-system-x86 [arm64]=qemu-system-aarch64:qemu-system-arm)
declare -rA QEMU_CONSOLE=([amd64]=ttyS0 [arm64]=ttyAMA0)

# set_qemu_base: QEMU and qemu_base, for the machine's architecture
set_qemu_base() {
        QEMU=${QEMU_PROGRAM[${machine[arch]}]%:*}
        case ${machine[arch]} in
        amd64) qemu_base=(-machine q35,i8042=off,smbus=off,sata=off,vmport=off) ;;
        arm64) qemu_base=(-machine virt,gic-version=3 -bios "$("$vm_dir/firmware")") ;;
        esac
        qemu_base+=(-no-user-config -nodefaults -display none)
        [[ -n ${boots_again:-} ]] || qemu_base+=(-no-reboot)
}

# qemu_machine IMAGE [KERNEL-WORD…]: sets the array qemu for the loaded machine; the caller adds its consoles.
qemu_machine() {
        local image=$1 kernel_line
        shift

        kernel_line="root=LABEL=vmroot rw fsck.mode=skip console=${QEMU_CONSOLE[${machine[arch]}]} panic=-1 oops=panic loglevel=6 audit=0"
        # Unless told that its clock can be trusted, the kernel reads the HPET each time, which is emulated under a lock.
        kernel_line+=" tsc=reliable mitigations=off init_on_alloc=0"
        # A guest that hangs is sent an NMI, to tell by a panic what each CPU is at.
        kernel_line+=" unknown_nmi_panic panic_print=64"
        kernel_line+=" nosoftlockup cryptomgr.notests net.ifnames=0 systemd.getty_auto=no systemd.show_status=no"
        [[ ${machine[cgroup]} == v2 ]] || kernel_line+=" systemd.unified_cgroup_hierarchy=0"

        kernel_line+=" ${machine[append]:-} $*"

        set_qemu_base
        choose_accel "$image"
        qemu=("$QEMU" -accel "$accel" "${qemu_base[@]}" -cpu "$(qemu_cpu)"
                -kernel "$image/kernel" -initrd "$image/initrd" -append "$kernel_line"
                -drive "if=none,id=root,file=$image/rootfs.ext4,format=raw,snapshot=on"
                -device virtio-blk-pci,drive=root,bus=pcie.0
                -device virtio-rng-pci,bus=pcie.0
                -device virtio-serial-pci,id=ports,bus=pcie.0)
        add_nodes
        add_devices
        [[ ! -e $tmp/payload ]] || qemu+=(
                -drive "if=none,id=payload,file=$tmp/payload,format=raw,readonly=on"
                -device virtio-blk-pci,drive=payload,serial=vm-payload,bus=pcie.0)
}

# The emulated CPU is an AMD one without the leaf that describes threads; as an Intel one it has the leaf that does. That of Arm is
# one of the field's age: pointer authentication, which newer ones have, is slow to emulate.
qemu_cpu() {
        local cpu=${machine[cpu]:-max,la57=off}
        [[ ${machine[arch]} == amd64 ]] || { echo "${machine[cpu]:-neoverse-n1}" && return; }
        ((machine[threads_per_core] == 1)) || cpu+=,vendor=GenuineIntel,family=6,model=85,stepping=7
        echo "$cpu"
}

add_nodes() {
        local nodes=${machine[nodes]} per=${machine[cpus_per_node]} threads=${machine[threads_per_core]} half from to distance
        local part=dies
        [[ ${machine[arch]} == amd64 ]] || part=clusters

        half=$((nodes / machine[sockets]))
        # A node is a die (of an Arm CPU, a cluster) of its own, or the kernel complains of a last-level cache that spans nodes.
        qemu+=(-smp "$((nodes * per)),sockets=${machine[sockets]},$part=$half,cores=$((per / threads)),threads=$threads"
                -m "$((${machine[memory_per_node]%[MG]} * nodes))${machine[memory_per_node]: -1}")
        for ((from = 0; from < nodes; from++)); do
                qemu+=(-object "memory-backend-ram,id=m$from,size=${machine[memory_per_node]}"
                        -numa "node,nodeid=$from,memdev=m$from,cpus=$((from * per))-$((from * per + per - 1))")
        done
        for ((from = 0; from < nodes; from++)); do
                for ((to = 0; to < nodes; to++)); do
                        distance=${machine[distance_far]}
                        ((from / half != to / half)) || distance=${machine[distance_near]}
                        ((from != to)) || distance=${machine[distance_local]}
                        qemu+=(-numa "dist,src=$from,dst=$to,val=$distance")
                done
        done
}

# A device gets a home node by hanging under a PCI host bridge of that node: one bridge and port for each device.
add_port() {
        local at=$1 node=$2
        qemu+=(-device "pxb-pcie,id=home.$at,bus_nr=$((32 + 16 * at)),bus=pcie.0,numa_node=$node"
                -device "pcie-root-port,id=port.$at,bus=home.$at,chassis=$((at + 1)),slot=$((at + 1))")
}

add_devices() {
        local device name node size queues at=0

        for device in "${machine_nvme[@]}"; do
                IFS=: read -r name node size <<<"$device"
                truncate -s "$size" "$tmp/$name.raw"
                add_port $at "$node"
                qemu+=(-drive "if=none,id=$name,file=$tmp/$name.raw,format=raw,cache=unsafe"
                        -device "nvme,drive=$name,serial=$name,bus=port.$at")
                at=$((at + 1))
        done
        for device in "${machine_nic[@]}"; do
                IFS=: read -r name node queues <<<"$device"
                add_port $at "$node"
                if [[ -z $queues ]]; then
                        qemu+=(-netdev "user,id=$name,restrict=on" -device "virtio-net-pci,netdev=$name,bus=port.$at")
                else
                        add_wired_nic "$name" "$queues" "port.$at"
                fi
                at=$((at + 1))
        done
}

# NICs with queues are on one wire: tap devices on a bridge of this host where it offers these, with all queues; else
# QEMU's own hub, where a NIC has one queue in each direction. $wire says which.
add_wired_nic() {
        local name=$1 queues=$2 port=$3 tap=vmt$$.${#host_links[@]}

        if [[ $wire == tap ]]; then
                ip tuntap add dev "$tap" mode tap multi_queue
                host_links+=("$tap")
                ip link set dev "$tap" master "vmb$$" up
                qemu+=(-netdev "tap,id=$name,ifname=$tap,queues=$queues,script=no,downscript=no,vhost=off"
                        -device "virtio-net-pci,netdev=$name,bus=$port,mq=on,vectors=$((2 * queues + 2))")
        else
                qemu+=(-netdev "hubport,id=$name,hubid=1" -device "virtio-net-pci,netdev=$name,bus=$port,vectors=4")
        fi
}

make_wire() {
        wire=hub
        if [[ -c /dev/net/tun ]] && ip link add name "vmb$$" type bridge 2>/dev/null; then
                host_links+=("vmb$$")
                ip link set dev "vmb$$" up
                wire=tap
        fi
}

remove_wire() {
        local link
        for link in "${host_links[@]}"; do
                ip link delete dev "$link" 2>/dev/null || true
        done
        host_links=()
}

# add_port_file NAME FILE: what the guest writes to /dev/virtio-ports/NAME ends up in FILE.
add_port_file() {
        qemu+=(-chardev "file,id=$1,path=$2" -device "virtserialport,bus=ports.0,chardev=$1,name=$1")
}
