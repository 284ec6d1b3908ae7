# shellcheck shell=bash
# Waits for the machine's disks: the boot is over before the last driver has found them, and a scenario shall see the
# whole machine. To be sourced by round and shell.

# wait_for_devices VM_NVME
wait_for_devices() {
        local expected end=$((SECONDS + 60))

        udevadm settle --timeout=60
        expected=$(tr ',' '\n' <<<"$1" | grep -c .)
        until (($(compgen -G '/sys/block/nvme*n1' | wc -l) >= expected)); do
                if ((SECONDS >= end)); then
                        echo "of the NVMe disks '$1' not all came up within a minute" >&2
                        return 1
                fi
                sleep 0.1
        done
}
