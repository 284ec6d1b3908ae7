# shellcheck shell=bash
# about: services that make cgroups below their own (Delegate=) are bound in these, or told which one stands in the way
# long machines: epyc8
# timeout: 500

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

payload_is() {
        local now
        now="$(<"$unit/payload/$1.effective")"
        echo "$1: '$now'"
        [[ $now == "$2" ]]
}

# The server in a group of its own; the other one holds the service's helper.
workload_unit tidb 4000 tidb-server - --anon 24M --spread --threads 4
mkdir -p /etc/systemd/system/tidb-4000.service.d
printf '[Service]\nDelegate=yes\n' >/etc/systemd/system/tidb-4000.service.d/delegate.conf
workload_start tidb-4000
unit=/sys/fs/cgroup/system.slice/tidb-4000.service
server=$(main_pid tidb-4000)
mkdir "$unit/payload"
echo "$server" >"$unit/payload/cgroup.procs"
before=$(grep -E '^(Cpus|Mems)_allowed_list' "/proc/$server/status")

policy inner <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 2-3}, memory: bind}
sampling: {interval: 2s}
EOT
install_package

# --- without a cpuset of its own: it follows --------------------------------------------------------------------------

bound() {
        [[ $(kview threads "$server" --unique) == 'cpus=2-3 mems=2-3' ]]
}
wait_until 120 'a process in a group below its unit is bound' bound
ok 'a process in a group below its unit is bound, by the kernel'
wait_until 60 'and the daemon knows' state_is tidb-4000 bound
ok 'and the daemon knows'
check 'the service has not given its group a cpuset' test ! -e "$unit/payload/cpuset.cpus"

# --- with one: empty, and narrower ---------------------------------------------------------------------------------------

echo +cpuset >"$unit/cgroup.subtree_control"
check 'a group with an empty cpuset has the unit'"'"'s' payload_is cpuset.cpus 2-3
wait_until 60 'it is bound as before' state_is tidb-4000 bound
echo 3 >"$unit/payload/cpuset.cpus"
wait_until 60 'a narrower group is told, with its name' state_is tidb-4000 partly '/system.slice/tidb-4000.service/payload'
ok 'a narrower group is told, with its name'
check 'and left as it is' payload_is cpuset.cpus 3
is "$(<"$unit/cpuset.cpus.effective")" 2-3 'the unit itself is bound'
echo 0-7 >"$unit/payload/cpuset.cpus" # the kernel lets nobody empty it while it holds processes
wait_until 60 'widened, it is bound' state_is tidb-4000 bound
ok 'widened, it is bound'

# --- and back ------------------------------------------------------------------------------------------------------------

rm /etc/tidbnumad.d/inner.yaml
systemctl reload tidbnumad
free() {
        [[ $(grep -E '^(Cpus|Mems)_allowed_list' "/proc/$server/status") == "$before" ]]
}
wait_until 60 'released, it has what it had' free
ok 'released, it has what it had, in its group'
is "$(sed -n 's/^0:://p' "/proc/$server/cgroup")" /system.slice/tidb-4000.service/payload 'which it never left'
plan
