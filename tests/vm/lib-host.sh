# shellcheck shell=bash
# What run and shell share: machine files, the payload disk and QEMU's command line. To be sourced.
# A caller sets $vm_dir (tests/vm) and calls vm_init first; temporary files live in $tmp, which vm_cleanup removes.

# shellcheck disable=SC2054  # commas are QEMU's
# shellcheck disable=SC2154  # the caller's variables

export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
readonly QEMU=qemu-system-x86_64
readonly QEMU_BASE=(-machine q35,i8042=off,smbus=off,sata=off,vmport=off -no-user-config -nodefaults -display none -no-reboot)
# shellcheck source=tests/vm/lib-accel.sh
. "$vm_dir/lib-accel.sh"

# The machine, as its file says. Lists hold NAME:NODE:SIZE and NAME:NODE or NAME:NODE:QUEUES.
declare -A machine
declare -a machine_nvme machine_nic host_links=()
tmp='' qemu_pid='' wire=''

die() {
        echo "tests/vm/${0##*/}: $1" >&2
        exit "${2:-2}"
}

vm_init() {
        cache=${TIDBNUMAD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tidbnumad}
        trap vm_cleanup EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
        need_tools
        mkdir -p "$cache"
        tmp=$(mktemp -d "${TMPDIR:-/tmp}/tidbnumad-vm.XXXXXX")
}

vm_cleanup() {
        end_qemu
        [[ -z ${package_pid:-} ]] || kill "$package_pid" 2>/dev/null || true
        remove_wire
        [[ -z $tmp ]] || rm -rf "$tmp"
}

end_qemu() {
        [[ -n $qemu_pid ]] || return 0
        kill -KILL "$qemu_pid" 2>/dev/null || true
        wait "$qemu_pid" 2>/dev/null || true
        qemu_pid=''
}

need_tools() {
        local pair missing=()
        for pair in "$QEMU:qemu-system-x86" mmdebstrap:mmdebstrap mke2fs:e2fsprogs gcc:gcc tar:tar sha256sum:coreutils; do
                command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
        done
        ((${#missing[@]} == 0)) || die "missing on this host. Install: apt-get install ${missing[*]}" 77
}

# --- machine files -------------------------------------------------------------------------------------------------

list_machines() {
        local file
        for file in "$vm_dir"/machines/*.machine; do
                basename "$file" .machine
        done
}

# Each key's form; append= is more words for the kernel line, the only one that may be missing. A key that is not here is an error.
declare -rA MACHINE_KEYS=(
        [include]='[a-z0-9-]+'
        [release]='[a-z]+([+][a-z]+)?'
        [cgroup]='v[12]'
        [sockets]='[1-9][0-9]*'
        [nodes]='[1-9][0-9]*'
        [cpus_per_node]='[1-9][0-9]*'
        [threads_per_core]='[12]'
        [memory_per_node]='[1-9][0-9]*[MG]'
        [distance_local]='[1-9][0-9]*'
        [distance_near]='[1-9][0-9]*'
        [distance_far]='[1-9][0-9]*'
        [nvme]='[a-z0-9]+:[0-9]+:[1-9][0-9]*[MG]'
        [nic]='[a-z0-9]+:[0-9]+(:[1-8])?'
        [append]='[[:graph:] ]+'
)

# load_machine NAME: fills machine, machine_nvme, machine_nic; stops the program with FILE:LINE on the first mistake.
load_machine() {
        machine=([name]=$1) machine_nvme=() machine_nic=()
        read_machine_file "$1" 0
        check_machine "$vm_dir/machines/$1.machine"
}

read_machine_file() {
        local name=$1 depth=$2 file=$vm_dir/machines/$1.machine line key value at=0

        [[ $name =~ ^[a-z0-9-]+$ && -r $file ]] ||
                die "no machine '$name' (expected file: $file). Known: $(list_machines | paste -sd' ')"
        ((depth < 4)) || die "$file: includes go too deep; does a machine include itself?"
        while IFS= read -r line || [[ -n $line ]]; do
                at=$((at + 1))
                [[ -n $line && $line != '#'* ]] || continue
                [[ $line == *=* ]] || die "$file:$at: '$line' is not KEY=VALUE"
                key=${line%%=*} value=${line#*=}
                [[ -v MACHINE_KEYS[$key] ]] ||
                        die "$file:$at: unknown key '$key', expected one of: $(printf '%s\n' "${!MACHINE_KEYS[@]}" | sort | paste -sd' ')"
                [[ $value =~ ^(${MACHINE_KEYS[$key]})$ ]] ||
                        die "$file:$at: $key='$value' is not of the form ${MACHINE_KEYS[$key]}"
                case $key in
                include) read_machine_file "$value" $((depth + 1)) ;;
                nvme) machine_nvme+=("$value") ;;
                nic) machine_nic+=("$value") ;;
                *) machine[$key]=$value ;;
                esac
        done <"$file"
}

check_machine() {
        local file=$1 key device node

        for key in "${!MACHINE_KEYS[@]}"; do
                [[ $key =~ ^(include|nvme|nic|append)$ || -v machine[$key] ]] || die "$file: '$key=' is missing"
        done
        ((machine[nodes] % machine[sockets] == 0)) ||
                die "$file: nodes=${machine[nodes]} is not a multiple of sockets=${machine[sockets]}"
        ((machine[cpus_per_node] % machine[threads_per_core] == 0)) ||
                die "$file: cpus_per_node=${machine[cpus_per_node]} is not a multiple of threads_per_core=${machine[threads_per_core]}"
        for device in "${machine_nvme[@]}" "${machine_nic[@]}"; do
                node=${device#*:} node=${node%%:*}
                ((node < machine[nodes])) || die "$file: '$device' is on node $node, but nodes=${machine[nodes]}"
        done
}

# --- payload -------------------------------------------------------------------------------------------------------

# build_workload FILE: the stand-in for tidb-server and the others; static, so that it runs on every release.
build_workload() {
        local support=$vm_dir/../support
        gcc -std=gnu17 -O2 -g -static -pthread -Wall -Wextra -Werror -o "$1" "$support"/workload*.c ||
                die "the workload in $support does not compile (see above; is libc6-dev installed?)" 1
}

# build_payload DIR DEB…: adds what every guest needs to DIR and packs it as the payload disk $tmp/payload.
# The caller puts scenarios, order and settings into DIR first.
build_payload() {
        local dir=$1 deb
        shift

        mkdir -p "$dir/bin" "$dir/debs"
        cp -r "$vm_dir/guest" "$dir/guest"
        cp -r "$vm_dir/../support/monitoring" "$dir/monitoring"
        cp "$vm_dir/../../README.md" "$dir/"
        build_workload "$dir/bin/workload"
        for deb in "$@"; do
                [[ -f $deb && $deb == *.deb ]] || die "--deb '$deb' is not a .deb file"
                cp -L "$deb" "$dir/debs/"
        done
        machine_settings >>"$dir/settings"
        tar --owner=0 --group=0 --mode=a+rX,go-w -cf "$tmp/payload" -C "$dir" .
}

# The machine as the guest's tests shall find it.
machine_settings() {
        [[ ! "${machine_nic[*]}" =~ :[0-9]+: ]] || make_wire
        cat <<EOF
VM_MACHINE=${machine[name]}
VM_RELEASE=${machine[release]}
VM_CGROUP=${machine[cgroup]}
VM_SOCKETS=${machine[sockets]}
VM_NODES=${machine[nodes]}
VM_CPUS_PER_NODE=${machine[cpus_per_node]}
VM_THREADS_PER_CORE=${machine[threads_per_core]}
VM_DISTANCES=${machine[distance_local]}:${machine[distance_near]}:${machine[distance_far]}
VM_NVME=$(IFS=,; echo "${machine_nvme[*]}")
VM_NIC=$(IFS=,; echo "${machine_nic[*]}")
VM_WIRE=$wire
EOF
}

# --- QEMU's command line -------------------------------------------------------------------------------------------

# qemu_machine IMAGE [KERNEL-WORD…]: sets the array qemu for the loaded machine; the caller adds its consoles.
qemu_machine() {
        local image=$1 kernel_line
        shift

        kernel_line="root=LABEL=vmroot rw fsck.mode=skip console=ttyS0 panic=-1 oops=panic loglevel=6 audit=0"
        # Unless told that its clock can be trusted, the kernel reads the HPET each time, which is emulated under a lock.
        kernel_line+=" tsc=reliable mitigations=off init_on_alloc=0"
        kernel_line+=" nosoftlockup cryptomgr.notests net.ifnames=0 systemd.getty_auto=no systemd.show_status=no"
        [[ ${machine[cgroup]} == v2 ]] || kernel_line+=" systemd.unified_cgroup_hierarchy=0"

        kernel_line+=" ${machine[append]:-} $*"

        choose_accel "$image"
        qemu=("$QEMU" -accel "$accel" "${QEMU_BASE[@]}" -cpu "$(qemu_cpu)"
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

# The emulated CPU is an AMD one without the leaf that describes threads; as an Intel one it has the leaf that does.
qemu_cpu() {
        local cpu=max,la57=off
        ((machine[threads_per_core] == 1)) || cpu+=,vendor=GenuineIntel,family=6,model=85,stepping=7
        echo "$cpu"
}

add_nodes() {
        local nodes=${machine[nodes]} per=${machine[cpus_per_node]} threads=${machine[threads_per_core]} half from to distance

        half=$((nodes / machine[sockets]))
        # A node is a die of its own, or the kernel complains of a last-level cache that spans nodes.
        qemu+=(-smp "$((nodes * per)),sockets=${machine[sockets]},dies=$half,cores=$((per / threads)),threads=$threads"
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
