# shellcheck shell=bash
# Puts the guest back between scenarios, so that none depends on what ran before. To be sourced by round.

# Kernel knobs that the daemon, a policy or a scenario may turn: all go back to what they were after boot.
reset_knobs() {
        printf '%s\n' /proc/sys/kernel/{numa_balancing,perf_event_paranoid} /proc/sys/vm/{zone_reclaim_mode,swappiness,min_free_kbytes} \
                /sys/kernel/mm/transparent_hugepage/{enabled,defrag,khugepaged/defrag} \
                /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity /sys/class/net/*/queues/*/[rx]ps_cpus
}

# read_knob FILE: into $value; of "always [madvise] never" the word that holds. No process is started: there are many.
read_knob() {
        value=''
        read -r value <"$1"
        [[ $value != *\[* ]] || { value=${value#*\[} && value=${value%%\]*}; }
}

# What systemd-run started, in units that have no file on a disk.
transient_units() {
        find /run/systemd/transient -maxdepth 1 \( -name '*.service' -o -name '*.scope' \) -printf '%f\n' | sort
}

reset_remember() {
        local knob value
        cp /var/lib/dpkg/status /run/vm-dpkg-status
        transient_at_boot=$(transient_units)
        declare -gA knob_at_boot=()
        while IFS= read -r knob; do
                [[ -r $knob ]] || continue
                read_knob "$knob"
                knob_at_boot[$knob]=$value
        done < <(reset_knobs)
}

# Most interrupts refuse (managed, or per CPU): only what differs is written, and a refusal is no error.
reset_kernel() {
        local knob value
        for knob in "${!knob_at_boot[@]}"; do
                [[ -e $knob ]] || continue
                read_knob "$knob"
                [[ $value == "${knob_at_boot[$knob]}" ]] || echo "${knob_at_boot[$knob]}" >"$knob"
        done
        echo 3 >/proc/sys/vm/drop_caches
}

# First of all, and at once: it would answer to each unit that ends.
reset_daemon() {
        systemctl kill --signal=KILL tidbnumad.service
        systemctl stop 'tidbnumad*'
}

# Strangers, neighbours and what was started from a login: a scenario that follows may want the same port.
reset_transient() {
        local units
        mapfile -t units < <(comm -13 <(echo "$transient_at_boot") <(transient_units))
        ((${#units[@]} > 0)) || return 0
        # Not every unit runs, and kill says so.
        systemctl kill --signal=KILL "${units[@]}" 2>/dev/null
        systemctl stop "${units[@]}"
}

# Workloads are whatever lib.sh laid out as TiUP does: a directory under /tidb-deploy is a unit's name.
reset_workloads() {
        local dir unit units=(haproxy.service)

        for dir in /tidb-deploy/*/; do
                [[ ! -d $dir ]] || units+=("$(basename "$dir").service")
        done
        # Not every unit runs, and kill says so.
        systemctl kill --signal=KILL "${units[@]}" 2>/dev/null
        systemctl stop "${units[@]}"
        for unit in "${units[@]}"; do
                [[ $unit == haproxy.service ]] || rm -rf "/etc/systemd/system/$unit" "/etc/systemd/system/$unit.d"
        done
        rm -rf /tidb-deploy /etc/systemd/system/haproxy.service.d
        [[ ! -e /etc/haproxy/haproxy.cfg.vm-saved ]] || mv /etc/haproxy/haproxy.cfg.vm-saved /etc/haproxy/haproxy.cfg
}

# By hand, from the lists that dpkg keeps, and with its state as it was after boot: a purge with its many small programs takes
# ten seconds here, and a dpkg that was cut off in its middle would need more. That a purge leaves nothing is for the scenario
# `package`.
reset_package() {
        local list file
        for list in /var/lib/dpkg/info/tidbnumad*.list; do
                [[ -e $list ]] || continue
                while IFS= read -r file; do
                        [[ -d $file && $file != *tidbnumad* ]] || printf '%s\0' "$file"
                done <"$list" | xargs -0r rm -rf
        done
        find /etc/systemd/system /var/lib/systemd -name '*tidbnumad*' -prune -exec rm -rf {} +
        rm -rf /var/lib/dpkg/info/tidbnumad* /var/lib/dpkg/{updates,tmp.ci}/* /etc/tidbnumad.d /run/tidbnumad /run/tidbnumad.d /var/lib/tidbnumad
        cp /run/vm-dpkg-status /var/lib/dpkg/status
}

# Drop-ins by set-property stay when their unit is gone; the cpuset directories of cgroup v1 belong to nobody.
reset_cgroups() {
        local dir pid

        rm -rf /run/systemd/system.control/* /etc/systemd/system.control/*
        systemctl daemon-reload
        systemctl reset-failed
        [[ -d /sys/fs/cgroup/cpuset/tidbnumad ]] || return 0
        for dir in /sys/fs/cgroup/cpuset/tidbnumad/*/ /sys/fs/cgroup/cpuset/tidbnumad/; do
                [[ -d $dir ]] || continue
                while read -r pid; do
                        echo "$pid" >/sys/fs/cgroup/cpuset/cgroup.procs
                done <"$dir/cgroup.procs"
                rmdir "$dir"
        done
}

reset_disks() {
        local disk
        while read -r disk; do
                umount --lazy "$disk"
        done < <(awk '$1 ~ "^/dev/nvme" { print $1 }' /proc/mounts)
        rm -rf --one-file-system /tidb-data
}

# The cards are there and nobody uses them: none has an address, none is up.
reset_network() {
        local card
        ip -all netns delete
        for card in /sys/class/net/*/device; do
                card=$(basename "${card%/device}")
                ip addr flush dev "$card"
                ip link set "$card" down
        done
}

# reset_guest LOG: never fails: what it could not mend is the next scenario's to notice, and is in LOG.
reset_guest() {
        local step
        for step in daemon transient workloads package cgroups network disks kernel; do
                echo "--- $(cut -d' ' -f1 /proc/uptime) $step"
                "reset_$step"
        done >>"$1" 2>&1 </dev/null
}
