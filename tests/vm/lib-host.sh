# shellcheck shell=bash
# What run and shell share: machine files, the payload disk and QEMU's command line. To be sourced.
# A caller sets $vm_dir (tests/vm) and calls vm_init first; temporary files live in $tmp, which vm_cleanup removes.

# shellcheck disable=SC2154  # the caller's variables

export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=tests/vm/lib-accel.sh
. "$vm_dir/lib-accel.sh"
# shellcheck source=tests/vm/lib-qemu.sh
. "$vm_dir/lib-qemu.sh"

# The machine, as its file says. Lists hold NAME:NODE:SIZE and NAME:NODE or NAME:NODE:QUEUES.
declare -A machine=([arch]=amd64)
declare -a machine_nvme machine_nic
tmp='' qemu_pid=''

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
        for pair in "${QEMU_PROGRAM[${machine[arch]}]}" "${COMPILER[${machine[arch]}]}" mmdebstrap:mmdebstrap mke2fs:e2fsprogs tar:tar \
                sha256sum:coreutils; do
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

# Each key's form. append=, more words for the kernel line, cpu=, another CPU of QEMU's, sanitized=, programs with sanitizers in the
# package (see sanitized-deb), rpm=, the rpm instead of the Debian package (see rpm-as-deb), and arch= (amd64) may be missing. A key
# that is not here is an error.
declare -rA MACHINE_KEYS=(
        [include]='[a-z0-9-]+'
        [release]='[a-z]+([+][a-z]+)?'
        [arch]='amd64|arm64'
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
        [cpu]='[A-Za-z0-9_.,=+-]+'
        [sanitized]='yes'
        [rpm]='yes'
)

# load_machine NAME: fills machine, machine_nvme, machine_nic; stops the program with FILE:LINE on the first mistake.
load_machine() {
        machine=([name]=$1 [arch]=amd64) machine_nvme=() machine_nic=()
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
                [[ $key =~ ^(include|nvme|nic|append|cpu|sanitized|rpm)$ || -v machine[$key] ]] || die "$file: '$key=' is missing"
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

# --- the package of another release or architecture than this host's ---------------------------------------------------

# Without the set of packages that an image may have beside its release
release() {
        echo "${machine[release]%%+*}"
}

has_own_package() {
        [[ ${machine[arch]} != "$(dpkg --print-architecture)" || $(release) != "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ]]
}

# build_own_package LOG: from $build_deb to $debs, before the machine boots: in a guest that waits, a build of minutes would count
# as the time of a scenario.
build_own_package() {
        local dir
        dir=$build_deb/$(release)-${machine[arch]}
        echo "the package for $(release), ${machine[arch]}: in $dir, built where it is not of this tree"
        "$vm_dir/../../packaging/build" --deb --release "$(release)" --arch "${machine[arch]}" "$dir" >"$tmp/debs.list" 2>"$1" || {
                tail -n 15 "$1" | sed 's/^/  | /'
                die "the package for ${machine[name]} could not be built" 1
        }
        # shellcheck disable=SC2034  # of the caller
        mapfile -t debs <"$tmp/debs.list"
        build_deb=''
}

# --- payload -------------------------------------------------------------------------------------------------------

declare -rA COMPILER=([amd64]=gcc:gcc [arm64]=aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu)

# build_workload FILE: the stand-in for tidb-server and the others; static, so that it runs on every release.
build_workload() {
        local support=$vm_dir/../support
        "${COMPILER[${machine[arch]}]%:*}" -std=gnu17 -O2 -g -static -pthread -Wall -Wextra -Werror -o "$1" "$support"/workload*.c ||
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
        cp -r "$vm_dir/../../packaging/ansible" "$dir/ansible"
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
        [[ -n $wire || ! "${machine_nic[*]}" =~ :[0-9]+: ]] || make_wire
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
