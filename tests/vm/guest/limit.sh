# shellcheck shell=bash
# Memory limits of units as the kernel and systemd show them, and the sizes that a server has taken from them at its start. To be
# sourced after lib.sh.

# memory_file UNIT v2-NAME v1-NAME
memory_file() {
        if is_cgroup_v1; then
                echo "/sys/fs/cgroup/memory$(systemctl show -P ControlGroup "$1.service")/$3"
        else
                echo "/sys/fs/cgroup$(systemctl show -P ControlGroup "$1.service")/$2"
        fi
}

# limit_of UNIT: in bytes, by the kernel; "max" where there is none
limit_of() {
        local value
        value=$(<"$(memory_file "$1" memory.max memory.limit_in_bytes)")
        [[ $value != 92233720368547* ]] || value=max
        echo "$value"
}

property_of() {
        systemctl show -P MemoryMax "$1.service"
}

# sizes_of UNIT FIELD: what its present process has taken at its start
sizes_of() {
        journalctl -q -u "$1.service" _PID="$(main_pid "$1")" -o cat | sed -nE "s/.*sizes:.* $2=([0-9]+).*/\1/p; s/^sizes: $2=([0-9]+).*/\1/p" | head -n 1
}

# published UNIT: what status.json says of its limit; "none" where it says nothing
published() {
        scrape /status | jq -r --arg name "$1" '.instances[] | select(.name == $name) | .memory_limit // "none"'
}

published_is() {
        local now
        now=$(published "$1")
        echo "$1: $now"
        [[ $now == "$2" ]]
}

limit_is() {
        local now
        now=$(limit_of "$1")
        echo "the limit of $1 is $now ($(published "$1"))"
        [[ $now == "$2" ]]
}

property_is() {
        local now
        now=$(property_of "$1")
        echo "MemoryMax of $1 is $now"
        [[ $now == "$2" ]]
}

is_limited() {
        local now
        now=$(property_of "$1")
        echo "MemoryMax of $1 is $now"
        [[ $now != infinity ]]
}

# restart_apart UNIT: as tiup cluster restart does it: all are stopped, then all are started
restart_apart() {
        systemctl stop "$1"
        wait_until 60 "$1 is prepared" is_limited "$1"
        systemctl start "$1"
        wait_until 60 "$1 listens" listens "${1##*-}"
}
