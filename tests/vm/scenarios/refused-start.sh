# shellcheck shell=bash
# about: policies refused at a start: those of before are in force again, or what is bound is held; an empty file releases nothing
# in turn: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

file=/etc/tidbnumad.d/tidb.yaml
good_policy() {
        policy tidb <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-4000.service"}, place: {nodes: 2}, memory: bind}
  - {name: tikv, match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}, place: {nodes: 5-6}, memory: bind}
sampling: {interval: 2s}
EOT
}

bound() {
        kview on tidb-4000.service=2 tikv-20160.service=5-6 && kview held tidb-4000.service=2 tikv-20160.service=5-6
}
bound_in_rows() {
        bound && metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"' &&
                metric_is 1 tidbnumad_instance_bound 'name="tikv-20160".*kind="memory"'
}
free() {
        [[ $(kview threads tidb-4000.service --unique) == 'cpus=0-7 mems=0-7' ]]
}

# status_says EXIT PATTERN…: and not what would be false
status_says() {
        local code=0 text pattern
        text=$(tidbnumactl status --all) || code=$?
        echo "exit $code"
        echo "$text"
        [[ $code == "$1" ]] || return 1
        shift
        for pattern in "$@"; do
                grep -q -- "$pattern" <<<"$text" || return 1
        done
        ! grep -q 'No process matches a policy' <<<"$text"
}

# repaired WHEN: what others change of a binding does not stay
repaired() {
        local group
        group=/sys/fs/cgroup$(systemctl show -P ControlGroup tidb-4000.service)
        # The daemon is stopped for a moment (not ended), so that the effect is seen before it is repaired.
        kill -STOP "$(main_pid tidbnumad)"
        echo 0-7 >"$group/cpuset.cpus"
        echo 0-7 >"$group/cpuset.mems"
        wait_until 15 "$1: written by hand" free
        kill -CONT "$(main_pid tidbnumad)"
        wait_until 90 "$1: repaired" bound
        ok "$1: what somebody else changes is repaired"
}

workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 5
workload_unit tidb 4001 tidb-server - --anon 8M --threads 3
workload_unit tikv 20160 tikv-server - --anon 48M --spread --threads 5
workload_start tidb-4000
workload_start tikv-20160
good_policy
install_package
wait_until 120 'both are bound' bound_in_rows
ok 'both are bound'
is "$(stat -c '%a %U' /run/tidbnumad/policies.kept)" '600 root' 'the policies in force are kept, for root alone'

# --- a typo and a restart ----------------------------------------------------------------------------------------------

sed -i 's/memory: bind/memroy: bind/' $file
check 'with a typo the daemon starts' systemctl restart tidbnumad
wait_until 60 'the former policies are in force' metric_is 1 tidbnumad_policy_kept
is "$(systemctl show -P StatusErrno tidbnumad)" 22 'systemd shows that something is wrong'
check 'and what is in force' grep -q 'Status:.*those of before the start are in force.*tidb.yaml:3' <<<"$(systemctl status tidbnumad)"
wait_until 90 'the bindings and their rows are there' bound_in_rows
wait_until 60 'status is true' status_says 3 '2 policies' 'policies of before the start of the daemon are in force' tidb-4000 tikv-20160
ok 'a typo and a restart: the former policies are in force, and status says so'
repaired 'by the former policies'
systemctl restart tidb-4000
wait_until 60 'the unit listens again' listens 4000
wait_until 90 'it is bound again' bound
ok 'a unit that restarts meanwhile is bound'

# --- no policies are kept, but what was bound is known -----------------------------------------------------------------

systemctl stop tidbnumad
rm /run/tidbnumad/policies.kept
systemctl start tidbnumad
wait_until 60 'no policy is in force' metric_is 0 tidbnumad_policy_in_force
check 'systemctl status says so' grep -q 'Status:.*no policy is in force' <<<"$(systemctl status tidbnumad)"
wait_until 90 'what is bound has its rows' bound_in_rows
wait_until 60 'status is true' status_says 3 'no policy in force' '2 bindings of an earlier run are held' tidb-4000 tikv-20160
ok 'without them no policy is in force, and what was bound is held'
repaired 'without a policy'
workload_start tidb-4001
daemon_looks
check 'what was never bound is not bound' cpus_open tidb-4001
systemctl stop tidb-4001

# --- mended ------------------------------------------------------------------------------------------------------------

good_policy
check 'the corrected file is loaded' systemctl reload tidbnumad
wait_until 60 'it is in force' metric_is 1 tidbnumad_policy_in_force
is "$(systemctl show -P StatusErrno tidbnumad)" 0 'systemd shows nothing wrong any more'
wait_until 90 'both are bound by it' bound_in_rows
wait_until 60 'status is fine' status_says 0 '2 policies'
ok 'the corrected file is in force'

# --- files that lose their policies ------------------------------------------------------------------------------------

for text in '' 'version: 1' '# nothing'; do
        echo -n "$text" >$file
        check "'$text': the reload fails" eval '! systemctl reload tidbnumad'
        wait_until 60 'the refusal shows' metric_is 0 tidbnumad_policy_load_success
        wait_until 60 'status says what to do' status_says 3 'previous policies stay in force' 'policies: \[\]'
        check "'$text': nothing is released" bound
        good_policy
        check 'the file is back' systemctl reload tidbnumad
done
mv $file $file~
check 'renamed by an editor: the reload fails' eval '! systemctl reload tidbnumad'
daemon_looks
check 'and nothing is released' bound
: >$file
rm $file~
systemctl restart tidbnumad
wait_until 60 'the former policies are in force' metric_is 1 tidbnumad_policy_kept
wait_until 90 'emptied, and a restart: nothing is released' bound_in_rows
ok 'emptied, and a restart: nothing is released'
printf 'version: 1\npolicies: []\n' >$file
check 'validate warns of the word' grep -q 'is released' <<<"$(tidbnumactl validate 2>&1)"
check 'the reload takes it' systemctl reload tidbnumad
wait_until 90 'the explicit word releases' free
ok 'the explicit word releases'
good_policy
systemctl reload tidbnumad
wait_until 120 'both are bound again' bound_in_rows
drop_policy tidb
wait_until 90 'a file that is removed releases' free
ok 'a file that is removed releases'

# --- nothing is known, as after a boot ---------------------------------------------------------------------------------

good_policy
systemctl reload tidbnumad
wait_until 120 'both are bound once more' bound_in_rows
systemctl stop tidbnumad
sed -i 's/memory: bind/memroy: bind/' $file
find /run/tidbnumad -mindepth 1 ! -name metrics.sock -delete
systemctl start tidbnumad
wait_until 60 'no policy is in force' metric_is 0 tidbnumad_policy_in_force
wait_until 60 'status is true' status_says 3 'no policy in force' tidb-4000 tikv-20160
check 'with nothing known: nothing is released' bound

good_policy
check 'the corrected file is loaded' systemctl reload tidbnumad
wait_until 60 'it is in force' metric_is 1 tidbnumad_policy_in_force
wait_until 90 'both are bound by it' bound_in_rows
ok 'and what is bound already is found again by the corrected file'
plan
