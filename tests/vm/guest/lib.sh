# shellcheck shell=bash
# What a scenario is written with: TAP checks, waiting, the package, policies and workloads, and daemon.sh. A scenario's head is
#   # about: one line
#   # machines: epyc8 epyc8-cgroup1
#   # timeout: 300            (optional, seconds)
#   . "$VM_LIB"
# and its last line is `plan`. What its commands print goes to the log; a command that fails ends the scenario.

vm_payload=/var/lib/vm
vm_checks=0 vm_failed=0
PATH=$vm_payload/guest:$PATH

if [[ -z ${VM_INTERACTIVE:-} ]]; then
        set -Eeuo pipefail
        trap 'vm_on_error $? "$BASH_COMMAND"' ERR
        # Checks go to the real stdout; all else that is printed is log.
        exec 3>&1 1>&2
else
        exec 3>&1
fi

vm_on_error() {
        local depth=1
        # The line of the scenario, not the one in here.
        while [[ ${BASH_SOURCE[depth]:-} == */guest/* ]]; do
                depth=$((depth + 1))
        done
        echo "line ${BASH_LINENO[depth - 1]}: '$2' ended with status $1" >&2
}

# --- checks --------------------------------------------------------------------------------------------------------

vm_result() {
        echo "$1 $vm_checks - $2" | tee /dev/fd/3
}

ok() {
        vm_checks=$((vm_checks + 1))
        vm_result ok "$1"
}

# not_ok DESCRIPTION: the scenario goes on, to tell as much as it can.
not_ok() {
        vm_checks=$((vm_checks + 1)) vm_failed=$((vm_failed + 1))
        vm_result 'not ok' "$1"
}

# is ACTUAL EXPECTED DESCRIPTION
is() {
        if [[ $1 == "$2" ]]; then
                ok "$3"
        else
                not_ok "$3: is '$1', expected '$2'"
        fi
}

# check DESCRIPTION COMMAND…: passes when the command does.
check() {
        local description=$1
        shift
        if "$@"; then
                ok "$description"
        else
                not_ok "$description: '$*' failed"
        fi
}

# oom_kills: how many processes the kernel has killed for want of memory since the boot
oom_kills() {
        awk '/^oom_kill / { print $2 }' /proc/vmstat
}

# nobody_was_killed: … since the scenario began; another one of this boot may have had it happen on purpose.
vm_oom_kills=$(oom_kills)
nobody_was_killed() {
        (($(oom_kills) == vm_oom_kills)) || { dmesg | grep -iE 'oom-kill:|out of memory' && return 1; }
}

# skip REASON: the whole scenario, before its first check.
skip() {
        echo "1..0 # SKIP $1" >&3
        exit 0
}

# The last line of a scenario; without it the scenario counts as one that broke off.
plan() {
        echo "1..$vm_checks" >&3
        ((vm_failed == 0))
}

# boot_again: the last line of the first part of a scenario with '# boots: 2' in its head. The machine boots once more, and the
# scenario runs once more, on the disk that it left and with VM_BOOT=2.
boot_again() {
        touch /var/lib/vm-boot-again
        plan
}

# wait_until SECONDS DESCRIPTION COMMAND…: a check in itself only when it fails, and then the scenario's last.
wait_until() {
        local limit=$1 description=$2 output
        shift 2
        local end=$((SECONDS + limit))

        until output=$("$@" 2>&1); do
                if ((SECONDS >= end)); then
                        not_ok "$description: not within $limit s; '$*' said: ${output:-nothing}"
                        [[ -n ${VM_INTERACTIVE:-} ]] || exit 1
                        return 1
                fi
                sleep 0.2
        done
}

# artifact FILE…: keeps copies with the scenario's logs.
artifact() {
        cp -r -- "$@" "$ARTIFACTS/"
}

# step TEXT: what happens now, for who watches the run
step() {
        echo "step: $1"
}

# --- the package ---------------------------------------------------------------------------------------------------

# Skips the scenario where the run was given no package.
need_package() {
        fetch_late_package
        compgen -G "$vm_payload/debs/*.deb" >/dev/null || skip 'no package was given (run --deb)'
}

# A package that was still being built when the guest was started is on a disk of its own.
fetch_late_package() {
        local disk=/dev/disk/by-id/virtio-vm-debs
        [[ -n ${VM_DEBS_LATER:-} ]] && ! compgen -G "$vm_payload/debs/*.deb" >/dev/null || return 0
        wait_until 600 'the package is built' late_package_size "$disk"
        # Not in a pipe: tar stops reading where the archive ends.
        dd if="$disk" of=/run/vm-debs.tar bs=1M skip=1 count="$(late_package_size "$disk")" iflag=direct status=none
        tar -xf /run/vm-debs.tar -C "$vm_payload/debs"
}

# In MiB, once it is there
late_package_size() {
        dd if="$1" bs=4096 count=1 iflag=direct status=none | tr -d '\0' | sed -n 's/^ready //p' | grep .
}

# A system call that the daemon's unit does not allow, which otherwise gets EPERM, ends the daemon here: nothing that it does in
# a scenario may go wrong unnoticed for that. What is tried and refused on purpose is excepted.
refused_calls_kill() {
        mkdir -p /etc/systemd/system/tidbnumad.service.d
        cat >/etc/systemd/system/tidbnumad.service.d/refused-calls-kill.conf <<'EOF'
[Service]
SystemCallErrorNumber=kill
SystemCallFilter=~mbind:EPERM set_mempolicy:EPERM perf_event_open:EPERM
EOF
}

# The image has what it depends on, so dpkg will do. Apt, as users install it, takes 10 s more here: that is for the
# scenario package.
install_package() {
        need_package
        refused_calls_kill
        DEBIAN_FRONTEND=noninteractive dpkg --install "$vm_payload"/debs/*.deb
}

# shipped FILE: an example of the package; the image keeps no documents
shipped() {
        local deb
        for deb in "$vm_payload"/debs/tidbnumad_*.deb; do
                dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/share/doc/tidbnumad/examples/$1"
        done
}

# policy NAME <<EOF: writes /etc/tidbnumad.d/NAME.yaml
policy() {
        mkdir -p /etc/tidbnumad.d
        cat >"/etc/tidbnumad.d/$1.yaml"
}

# --- workloads -----------------------------------------------------------------------------------------------------

# workload_unit NAME PORT BINARY NODES ARGS…: lays out NAME-PORT.service as TiUP does. NODES is the list for TiUP's
# numa_node, '-' for none; ARGS are options of the workload, added to those that TiUP gives. Does not start it.
#   workload_unit tikv 20160 tikv-server 3 --anon 96M --spread
workload_unit() {
        local name=$1 port=$2 binary=$3 nodes=$4 unit=$1-$2
        local dir=/tidb-deploy/$unit
        shift 4

        mkdir -p "$dir"/{bin,conf,log,scripts} "/tidb-data/$unit"
        cp "$vm_payload/bin/workload" "$dir/bin/$binary"
        vm_run_script "$name" "$port" "$binary" "$nodes" "$@" >"$dir/scripts/run_$name.sh"
        chmod 755 "$dir/scripts/run_$name.sh"
        chown -R tidb:tidb "$dir" "/tidb-data/$unit"
        cat >"/etc/systemd/system/$unit.service" <<EOF
[Unit]
Description=$name service
After=syslog.target network.target remote-fs.target nss-lookup.target

[Service]
LimitNOFILE=1000000
LimitSTACK=10485760
User=tidb
ExecStart=/bin/bash -c '$dir/scripts/run_$name.sh'
Restart=always
RestartSec=1s

[Install]
WantedBy=multi-user.target
EOF
}

# All by exec, so that the unit has one process: bash becomes numactl, then env, then the server.
vm_run_script() {
        local name=$1 port=$2 binary=$3 nodes=$4 dir=/tidb-deploy/$1-$2 words=(exec)
        shift 4

        [[ $nodes == - ]] || words+=(numactl "--cpunodebind=$nodes" "--membind=$nodes")
        [[ $name == tikv ]] || words+=(env GODEBUG=madvdontneed=1)
        words+=("bin/$binary")
        case $name in
        tidb) words+=(-P "$port" "--status=$((port + 6080))" --host=0.0.0.0 --advertise-address=127.0.0.1 --store=tikv
                --path=127.0.0.1:2379 --config=conf/tidb.toml --log-file="$dir/log/tidb.log") ;;
        tikv) words+=(--addr "0.0.0.0:$port" --advertise-addr "127.0.0.1:$port" --status-addr "0.0.0.0:$((port + 20))"
                --pd 127.0.0.1:2379 --data-dir "/tidb-data/$name-$port" --config conf/tikv.toml
                --log-file "$dir/log/tikv.log") ;;
        pd) words+=("--name=pd-$port" "--client-urls=http://0.0.0.0:$port" "--data-dir=/tidb-data/$name-$port"
                --config=conf/pd.toml --log-file="$dir/log/pd.log") ;;
        *) words+=(--port "$port") ;;
        esac
        printf '#!/bin/bash\nset -e\ncd %q || exit 1\n' "$dir"
        printf '%q ' "${words[@]}" "$@"
        printf '2>>%q\n' "$dir/log/${name}_stderr.log"
}

# workload_start UNIT…: starts units as NAME-PORT and waits until each listens, which it does once its memory is in place.
workload_start() {
        local unit
        systemctl daemon-reload
        systemctl start "${@/%/.service}"
        for unit in "$@"; do
                wait_until 120 "$unit listens" listens "${unit##*-}"
        done
}

# listens PORT
listens() {
        [[ -n $(ss -Hltn "sport = :$1") ]]
}

# main_pid UNIT
main_pid() {
        systemctl show -P MainPID "$1"
}

# --- disks ---------------------------------------------------------------------------------------------------------

# nvme_of_node NODE: the block device of the first NVMe disk there.
nvme_of_node() {
        local block
        for block in /sys/block/nvme*n1; do
                if [[ $(<"$block/device/device/numa_node") == "$1" ]]; then
                        echo "/dev/${block##*/}"
                        return 0
                fi
        done
        echo "no NVMe disk is on node $1; the machine has: $VM_NVME" >&2
        return 1
}

# nic_of_node NODE: the network card there. The kernel numbers them in any order.
nic_of_node() {
        local card path
        for card in /sys/class/net/*/device; do
                path=$(readlink -f "$card")
                [[ $path != */virtio* ]] || path=${path%/*}
                if [[ $(<"$path/numa_node") == "$1" ]]; then
                        card=${card%/device}
                        echo "${card##*/}"
                        return 0
                fi
        done
        echo "no network card is on node $1; the machine has: $VM_NIC" >&2
        return 1
}

# mount_data NODE DIR: a fresh file system on the NVMe of that node, mounted and tidb's.
mount_data() {
        local disk
        disk=$(nvme_of_node "$1")
        mkfs.ext4 -q -F -E nodiscard "$disk"
        mkdir -p "$2"
        mount "$disk" "$2"
        chown tidb:tidb "$2"
}

# shellcheck source=tests/vm/guest/daemon.sh
. "${BASH_SOURCE[0]%/*}/daemon.sh"
