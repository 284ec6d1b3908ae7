# shellcheck shell=bash
# about: what the admin sets on a unit or on its slice leads where it is bound, and a unit that systemd cannot read is given back
# long machines: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# admin_policy MEMORY
admin_policy() {
        policy admin <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {count: 1}, memory: bind}
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: 2}, memory: $1}
sampling: {interval: 2s}
EOT
}

# own UNIT TEXT: a drop-in of the admin's
own() {
        mkdir -p "/etc/systemd/system/$1.d"
        printf '%b\n' "$2" >"/etc/systemd/system/$1.d/own.conf"
}

# is_at UNIT TEXT: by the kernel
is_at() {
        local now
        now=$(kview threads "$1.service" --unique)
        echo "$1: $now"
        [[ $now == "$2" ]]
}

workload_unit tidb 4000 tidb-server - --anon 16M --spread
workload_unit tikv 20160 tikv-server - --anon 16M --spread
own tidb-4000.service '[Service]\nAllowedMemoryNodes=5'
own tikv-20160.service '[Service]\nSlice=small.slice'
own small.slice '[Slice]\nAllowedMemoryNodes=0-3'
workload_start tidb-4000 tikv-20160
wait_until 60 'the slice holds' is_at tikv-20160 'cpus=0-7 mems=0-3'
admin_policy bind
cursor=$(journal_cursor)
install_package

# --- where the planner may choose -----------------------------------------------------------------------------------

wait_until 120 'it is bound to the node that its unit leaves it' is_at tidb-4000 'cpus=5 mems=5'
ok 'it is bound to the node that its unit leaves it'
wait_until 60 'and the daemon knows' state_is tidb-4000 bound
is "$(daemon_said "$cursor" | grep -c 'tidb-4000 is not bound' || true)" 0 'it was not refused before'

# --- opened as far as the slice lets it -------------------------------------------------------------------------------

wait_until 120 'it is bound below its slice' is_at tikv-20160 'cpus=2 mems=2'
wait_until 60 'and the daemon knows' state_is tikv-20160 bound
# Another daemon of the host, or its admin, takes the CPUs of its node from the slice: its memory is not to be kept there.
systemctl set-property --runtime small.slice AllowedCPUs=0-1
wait_until 240 'where its slice leaves it no CPU of its node, it is given back' is_at tikv-20160 'cpus=0-1 mems=0-3'
ok 'where its slice leaves it no CPU of its node, it is given back'
wait_until 60 'and the daemon says why' state_is tikv-20160 watched small.slice
systemctl set-property --runtime small.slice AllowedCPUs=0-7
wait_until 240 'with them it is bound again' is_at tikv-20160 'cpus=2 mems=2'
ok 'with them it is bound again'
wait_until 60 'and the daemon knows' state_is tikv-20160 bound
admin_policy preferred
systemctl reload tidbnumad
wait_until 120 'its memory nodes open as far as its slice lets them' is_at tikv-20160 'cpus=2 mems=0-3'
wait_until 60 'and that is all there is to do' state_is tikv-20160 bound
daemon_looks
daemon_looks
check 'also later' state_is tikv-20160 bound
ok 'its memory nodes open as far as its slice lets them'

# --- systemd cannot read its unit ------------------------------------------------------------------------------------

own tikv-20160.service '[Service]\nSlice=small.slice\nExecStart='
systemctl daemon-reload
is "$(systemctl show -P LoadState tikv-20160)" bad-setting 'the unit has a mistake'
drop_policy admin
cannot() {
        daemon_said "$cursor" | grep 'tikv-20160 cannot be released yet'
}
wait_until 60 'that it cannot be given back is told' cannot
ok 'that it cannot be given back is told'
# systemd forgets the properties of a unit that it cannot read, and knows them again with its file: the record has to last.
check 'its record lasts' test -e /run/tidbnumad/undo/tikv-20160.service.json
own tikv-20160.service '[Service]\nSlice=small.slice'
systemctl daemon-reload
wait_until 90 'mended, it is given back' is_at tikv-20160 'cpus=0-7 mems=0-3'
ok 'mended, it is given back'
wait_until 60 'with no record left' no_records
is "$(systemctl show -P AllowedCPUs tikv-20160)" '' 'and no property'
plan
