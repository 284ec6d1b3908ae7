# shellcheck shell=bash
# about: a cgroup v1 cpuset hierarchy that TuneD or Slurm has mounted elsewhere: what cannot be written to is not chosen, and check tells
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hierarchy=/cgroup/cpuset
dropin=/etc/systemd/system/tidbnumad.service.d/hierarchy.conf
leave() {
        rm -f "$dropin"
        systemctl daemon-reload
        systemctl stop tidb-4000 tidbnumad
        # A release has removed the groups: what is gone must not end this before the hierarchy is unmounted.
        rmdir "$hierarchy"/tidbnumad/* "$hierarchy/tidbnumad" || true
        umount "$hierarchy" || true
        rmdir -p "$hierarchy" || true
} 2>/dev/null
trap leave EXIT

# What an earlier scenario may have left: a controller with groups of cgroup v2 cannot be mounted.
while read -r file; do
        ! grep -qw cpuset "$file" || echo -cpuset >"$file"
done < <(find /sys/fs/cgroup -depth -name cgroup.subtree_control)
v2_has_cpusets() {
        grep -w cpuset /sys/fs/cgroup/cgroup.controllers
}
mkdir -p "$hierarchy"
mount_it() {
        mount -t cgroup -o cpuset none "$hierarchy"
}
wait_until 30 'the kernel gives the controller to cgroup v1' mount_it
check 'cgroup v2 has lost the cpuset controller to it' bash -c '! grep -qw cpuset /sys/fs/cgroup/cgroup.controllers'

workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 4
workload_start tidb-4000
policy tidb <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 2}, memory: bind}
sampling: {interval: 2s}
EOT
install_package

# cpuset_finding: what check makes of it
cpuset_finding() {
        { tidbnumactl check --json || true; } | jq -r '.findings[] | select(.rule == "cpuset") | .where + ": " + .remedy'
}
cpuset_state() {
        { tidbnumactl check --json || true; } | jq -r '.rules[] | select(.id == "cpuset") | .state'
}
# on_cpus LIST
on_cpus() {
        [[ $(kview threads tidb-4000.service --unique) == "cpus=$1 "* ]]
}
backend_is() {
        scrape /status | jq -e --arg backend "$1" '(.backend + " " + (.backend_reason // "") | stderr) | startswith($backend)'
}
tells_why() {
        scrape /status | jq -e '.instances[] | select(.name == "tidb-4000") | (.state + ": " + .reason + "; by " + .bound_by + ": " + .bound_by_reason | stderr) |
                test("partly: memory: bind is treated as preferred.*by affinity: .*cannot write")'
}

# --- in the sandbox of the unit it is read-only --------------------------------------------------------------------------------

wait_until 60 'the backend is affinity' backend_is affinity
ok 'the backend is affinity'
wait_until 120 'its threads are on CPU 2' on_cpus 2
ok 'its threads are on CPU 2'
wait_until 120 'its memory is all on node 2' all_on tidb-4000.service 2
ok 'its memory is all on node 2'
wait_until 60 'the state tells why it is no more than that' tells_why
ok 'the state tells why it is no more than that'
check 'status tells it of the host' bash -c 'tidbnumactl status | grep -F "cannot write to"'
check 'check names the hierarchy' grep -F "$hierarchy: " <<<"$(cpuset_finding)"
is "$(cpuset_finding | grep -c CONFIG_CPUSETS)" 0 'and asks for no other kernel'
is "$(cpuset_state)" failure 'it is a failure, for the policy binds memory'
systemctl stop tidbnumad
check 'without the daemon it is the same' grep -F "$hierarchy: " <<<"$(cpuset_finding)"
check 'and the plan is by affinity' bash -c 'tidbnumactl plan --json | jq -e ".instances[0].bound_by == \"affinity\""'

# --- the remedy of check -------------------------------------------------------------------------------------------------------

printf '[Service]\nReadWritePaths=%s\n' "$hierarchy" >"$dropin"
systemctl daemon-reload
systemctl start tidbnumad
wait_until 60 'where it may write to it, the backend is cgroup1' backend_is cgroup1
ok 'where it may write to it, the backend is cgroup1'
in_its_directory() {
        grep -x '.*:cpuset:/tidbnumad/tidb-4000' "/proc/$(main_pid tidb-4000)/cgroup" && held_to tidb-4000.service 2
}
wait_until 120 'its memory is bound' in_its_directory
ok 'its memory is bound'
is "$(cpuset_state)" ok 'check is content'
check 'nobody was killed for want of memory' nobody_was_killed

# --- given back ----------------------------------------------------------------------------------------------------------------

rm /etc/tidbnumad.d/tidb.yaml
systemctl reload tidbnumad
wait_until 60 'released, it is where it was' cpus_open tidb-4000
leave
wait_until 30 'cgroup v2 has its controller again' v2_has_cpusets
ok 'cgroup v2 has its controller again'
systemctl start tidbnumad
wait_until 60 'and the backend is systemd' backend_is systemd
ok 'and the backend is systemd'
plan
