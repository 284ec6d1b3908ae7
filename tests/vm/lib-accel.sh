# shellcheck shell=bash
# KVM or software emulation? A /dev/kvm that opens proves nothing: QEMU may assert, or the firmware may run and a kernel
# never does. Only a kernel that printed its first line counts. To be sourced by lib-host.sh.
# shellcheck disable=SC2154  # cache, tmp, qemu_pid, QEMU, qemu_base and the machine are the caller's

# A healthy KVM prints the line within 2 s. The tests set shorter times, and a device of their own.
readonly KVM_DEVICE=${TIDBNUMAD_KVM:-/dev/kvm}
readonly KVM_PROBE_SECONDS=${TIDBNUMAD_KVM_PROBE_SECONDS:-10} KVM_SILENCE_SECONDS=${TIDBNUMAD_KVM_SILENCE_SECONDS:-30}

# tcg: software emulation, with a thread for each CPU of the guest. Where these are many for this host, one that holds a lock often
# is not running and the others spin on it, until the guest's kernel reports stalls: then a single thread, which runs the next
# CPU as soon as one spins, is faster (arm16 on two CPUs: 118 s for a scenario that did not end in 229 s).
tcg() {
        local cpus=$((machine[nodes] * machine[cpus_per_node]))
        if ((cpus > 4 * $(nproc))); then echo tcg,thread=single; else echo tcg,thread=multi; fi
}

# kernel_spoke CONSOLE-FILE
kernel_spoke() {
        grep -aqs 'Linux version' "$1"
}

# The answer holds for this boot of the host; the file's name must not be that of the earlier probe, which believed firmware.
kvm_answer_file() {
        echo "$cache/kvm-kernel-$(</proc/sys/kernel/random/boot_id)"
}

kvm_remember() {
        local answer
        answer=$(kvm_answer_file)
        rm -f "$cache"/kvm-*
        echo "$1" >"$answer.$$"
        mv "$answer.$$" "$answer"
}

# probe_kvm IMAGE: boots the image's kernel with one CPU, as far as its first line.
probe_kvm() {
        local deadline=$((SECONDS + KVM_PROBE_SECONDS)) answer=no

        : >"$tmp/probe"
        (ulimit -c 0 && TMPDIR=$tmp exec setpriv --pdeathsig KILL "$QEMU" -accel kvm "${qemu_base[@]}" -smp 1 -m 512 \
                -kernel "$1/kernel" -append 'console=ttyS0 earlyprintk=ttyS0 panic=-1' \
                -chardev "file,id=console,path=$tmp/probe" -serial chardev:console) </dev/null >"$tmp/probe.log" 2>&1 &
        qemu_pid=$!
        while kill -0 "$qemu_pid" 2>/dev/null && ! kernel_spoke "$tmp/probe" && ((SECONDS < deadline)); do
                sleep 0.1
        done
        ! kernel_spoke "$tmp/probe" || answer=yes
        end_qemu
        kvm_remember "$answer"
}

# choose_accel IMAGE: sets accel; one line where a KVM is there and not used.
choose_accel() {
        local answer
        accel=$(tcg)
        [[ -w $KVM_DEVICE && ${machine[arch]} == amd64 ]] || return 0
        answer=$(kvm_answer_file)
        # Where QEMU asserts, the shell would report that itself.
        [[ -s $answer ]] || probe_kvm "$1" 2>/dev/null
        if [[ $(<"$answer") == yes ]]; then
                accel=kvm
        else
                echo "$KVM_DEVICE is there but runs no kernel on this host; software emulation is used, which is slower." >&2
        fi
}

# kvm_is_silent CONSOLE-FILE SECONDS: a machine under KVM whose kernel has not spoken by now, or that ended without a word.
kvm_is_silent() {
        [[ $accel == kvm ]] && ! kernel_spoke "$1" || return 1
        (($2 >= KVM_SILENCE_SECONDS)) || ! kill -0 "$qemu_pid" 2>/dev/null
}
