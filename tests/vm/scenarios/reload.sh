# shellcheck shell=bash
# about: policies reloaded: a changed node moves the instance, a broken file leaves the former policies in force
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

node_policy() {
        policy tidb <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: $1}
    memory: $2
sampling: {interval: 2s}
EOT
}

install_package
is "$(metric tidbnumad_policies)" 0 'with no policy at all the daemon runs'
workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 5
workload_start tidb-4000
daemon_looks
is "$(kview threads tidb-4000.service --unique)" "cpus=0-7 mems=0-7" 'and changes nothing'

node_policy 3 bind
systemctl reload tidbnumad
wait_until 90 'a policy that came by a reload binds what runs' all_on tidb-4000.service 3
ok 'a policy that came by a reload binds what runs'
check 'strictly' held_to tidb-4000.service 3

# --- a broken file -------------------------------------------------------------------------------------------------

cursor=$(journal_cursor)
sed -i 's/memory: bind/memroy: bind/' /etc/tidbnumad.d/tidb.yaml
check 'systemctl reload fails' eval '! systemctl reload tidbnumad'
check 'systemctl status shows the first error' grep -q 'Status:.*tidb.yaml:6:5' <<<"$(systemctl status tidbnumad)"
wait_until 60 'the refusal shows in the metrics' metric_is 0 tidbnumad_policy_load_success
said() {
        daemon_said "$cursor" | grep -q 'stay in force'
}
wait_until 60 'the journal has what the daemon said' said
# shellcheck disable=SC2016  # the backquotes are the daemon's
is "$(daemon_said "$cursor" 3)" '/etc/tidbnumad.d/tidb.yaml:6:5: unknown key `memroy` in `policies[]`, did you mean `memory`?' \
        'a broken policy file makes one line of error, with file, line, column and the key that was meant'
is "$(systemctl is-active tidbnumad)" active 'the daemon runs on'
is "$(metric tidbnumad_policies)" 1 'with the former policies'
systemctl restart tidb-4000
wait_until 60 'the unit listens again' listens 4000
wait_until 90 'which still bind' all_on tidb-4000.service 3
ok 'a unit that restarts meanwhile is bound by the former policies'

# --- mended, and another node --------------------------------------------------------------------------------------

node_policy 5 bind
systemctl reload tidbnumad
wait_until 60 'the mended file is in force' metric_is 1 tidbnumad_policy_load_success
wait_until 90 'a changed node moves the instance' all_on tidb-4000.service 5
ok 'a changed node moves the instance, threads and memory'
check 'and holds it there' held_to tidb-4000.service 5

node_policy 5-6 preferred
systemctl reload tidbnumad
opened() {
        kview snapshot tidb-4000.service --json | jq -e '.[] | .cpus == ["5-6"] and .mems == ["0-7"]'
}
wait_until 90 'from bind to preferred the memory nodes open again' opened
ok 'from bind to preferred the memory nodes open again, the CPUs follow'
plan
