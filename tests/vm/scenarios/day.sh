# shellcheck shell=bash
# about: an operator's day by README's tour: install, check, plan, enforce, repair, pause, replan, a broken policy, release, remove
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

readme=$vm_payload/README.md policy_file=/etc/tidbnumad.d/tidb.yaml

# --- README: its policy, and the commands of its tour, which are played in its order ---------------------------------------

first_policy() {
        # shellcheck disable=SC2016  # backticks of Markdown
        sed -n '/^```yaml$/,/^```$/p' "$readme" | sed '/^```/d'
}

mapfile -t tour < <(sed -n '/^## A tour/,/^## [^A]/s/^\$ \(sudo \)\?//p' "$readme")

# play COMMAND STATUS: the next command of the tour, which must be this one; its output goes to `out`.
play() {
        local status=0
        is "${tour[0]:-}" "$1" "README's tour: $1"
        out=$(bash -c "$1" 2>&1) || status=$?
        printf '$ %s\n%s\n' "$1" "$out" | tee -a "$ARTIFACTS/transcript"
        is "$status" "$2" "'$1' ends with $2"
        tour=("${tour[@]:1}")
}

shows() {
        check "it shows $1" grep -qE "$1" <<<"$out"
}

# On a terminal of 80 columns; q is pressed once it has drawn.
play_top() {
        is "${tour[0]}" 'tidbnumactl top' "README's tour: tidbnumactl top"
        tour=("${tour[@]:1}")
        {
                wait_until 60 'top draws' grep -q TOTAL "$ARTIFACTS/top" >&2
                printf q
        } | script -qfec 'stty cols 80 rows 24; tidbnumactl top' "$ARTIFACTS/top" >/dev/null
        out=$(sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' "$ARTIFACTS/top")
}

cpus_of() {
        kview threads "$1.service" --unique | sed 's/ .*//'
}

bound_on() {
        held_to "$1.service" "$2" && all_on "$1.service" "$2"
}

# --- it is installed ------------------------------------------------------------------------------------------------------

step 'the first policy'
demo_host_up
declare -A cpus_before # haproxy may have chosen a node by itself (numa-cpu-mapping)
for unit in tikv-20160 tikv-20161 tidb-4001 pd-2379 haproxy; do
        cpus_before[$unit]=$(cpus_of "$unit")
done
echo always >/sys/kernel/mm/transparent_hugepage/enabled
mkdir -p /etc/tidbnumad.d
first_policy >"$policy_file"
check "README's first policy observes" grep -q 'mode: observe' "$policy_file"
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready

play 'tidbnumactl check' 1
shows '^RESULT +RULE +FOUND$'
shows '^warning +huge-pages '
bash -c "$(sed -n 's/^  huge-pages: //p' <<<"$out")"
check 'what it prints mends it' grep -qF '[never]' /sys/kernel/mm/transparent_hugepage/enabled
check "README's first policy is valid" tidbnumactl validate
play 'tidbnumactl plan' 0
shows '^tikv-20160 +[-0-9]+ +3 '
shows '^tikv-20161 +[-0-9]+ +6 '
is "$(cpus_of tikv-20160)" cpus=0-7 'nothing is bound yet'

# --- it is enforced, looked at, and repaired --------------------------------------------------------------------------------

step 'enforce'
play "sed -i 's/mode: observe/mode: enforce/' /etc/tidbnumad.d/tidb.yaml" 0
play 'systemctl reload tidbnumad' 0
wait_until 120 'tikv-20160 is on node 3' bound_on tikv-20160 3
wait_until 120 'tikv-20161 is on node 6' bound_on tikv-20161 6
wait_until 60 'all is settled' tidbnumactl status
# By README's first policy, each program that README names is bound, to the node that status says.
for unit in tidb-4000 tidb-4001 pd-2379 haproxy; do
        check "$unit is bound" bound_on "$unit" "$(tidbnumactl status "$unit" --json | jq -r '.instances[0].nodes')"
done
play 'tidbnumactl status' 0
shows '^INSTANCE +STATE +NODES +CPUS +ANONYMOUS +REMOTE'
shows '^tikv-20161 +bound +6 '
play_top
shows 'q, s sort, i view'
shows 'tikv-20161 bound '

home=$(tidbnumactl status tidb-4001 --json | jq -r '.instances[0].nodes')
bound_home() {
        [[ $(cpus_of tidb-4001) == "cpus=$home" ]]
}
taskset -apc 0-7 "$(main_pid tidb-4001)"
echo 0-7 >"/sys/fs/cgroup$(systemctl show -P ControlGroup tidb-4001.service)/cpuset.cpus"
wait_until 60 'it is repaired' bound_home
ok "other CPUs by hand: tidb-4001 is back on $home"
in_history() {
        { tidbnumactl status tidb-4001 || true; } | grep 'something else changed its CPUs to 0-7'
}
wait_until 30 'the history has it' in_history
wait_until 90 'all is settled' tidbnumactl status
play 'tidbnumactl status tidb-4001' 0
shows 'something else changed its CPUs to 0-7'

# --- troubleshooting, as tidbnumad(8) has it ------------------------------------------------------------------------------

check 'the message of the repair has its id' grep -q tidb-4001 <<<"$(journalctl -q MESSAGE_ID=1b7e4d9a6c0f4285b3d8e2f7a5c19d44)"
check 'healthz answers' curl -sSf --unix-socket /run/tidbnumad/metrics.sock http://localhost/healthz
check 'explain PID shows the key that does not match' \
        grep -q 'exe is tikv-server, but it runs' <<<"$(tidbnumactl explain "$(main_pid pd-2379)")"
check 'locality --exact shows the kinds' grep -q '^NODE.* ANON .*HUGE' <<<"$(tidbnumactl locality --exact tikv-20160)"

# --- pause, resume, replan -----------------------------------------------------------------------------------------------

step 'pause, resume, replan'
play 'tidbnumactl pause' 0
is "$(metric tidbnumad_enforcing)" 0 'paused, it does not enforce'
play 'tidbnumactl resume' 0
cp "$policy_file" /run/tidb.yaml
sed -i 's/^      near: storage.*/&\n      avoid: [3]/' "$policy_file"
systemctl reload tidbnumad
away() {
        [[ $(cpus_of tikv-20160) != cpus=3 ]] && tidbnumactl status
}
wait_until 120 'tikv-20160 leaves node 3, which its policy avoids' away
cp /run/tidb.yaml "$policy_file"
systemctl reload tidbnumad
wait_until 60 'all is settled' tidbnumactl status
place=$(cpus_of tikv-20160)
check 'it keeps its place, though node 3 is better and free' test "$place" != cpus=3
play 'tidbnumactl replan --dry-run' 0
shows '^tikv-20160 +[0-9] +3 '
is "$(cpus_of tikv-20160)" "$place" 'a dry run moves nothing'
tidbnumactl replan --yes tikv-20160 | tee -a "$ARTIFACTS/transcript"
wait_until 120 'after replan it is on node 3' bound_on tikv-20160 3
ok 'after replan it is on node 3, by the files of the kernel'
is "$(cpus_of tikv-20161) $(cpus_of tidb-4001)" "cpus=6 cpus=$home" 'and the others keep their places'

# --- a broken policy ------------------------------------------------------------------------------------------------------

step 'a broken policy'
sed -i 's/near: storage/near: storrage/' "$policy_file"
! systemctl reload tidbnumad || not_ok 'a reload with a broken policy succeeds'
tidbnumactl validate || is $? 1 'validate refuses it'
check 'status names the file' grep -q "$policy_file:" <<<"$(tidbnumactl status || true)"
check 'the bindings stay' bound_on tikv-20160 3
cp /run/tidb.yaml "$policy_file"
systemctl reload tidbnumad
wait_until 60 'all is settled' tidbnumactl status

# --- released, and removed ------------------------------------------------------------------------------------------------

step 'release and remove'
play 'tidbnumactl release tikv-20160' 0
is "$(cpus_of tikv-20160)" cpus=0-7 'it has back what it had'
play 'tidbnumactl release --undo tikv-20160' 0
wait_until 120 'it is bound again' bound_on tikv-20160 3
is "${#tour[@]}" 0 'no command of the tour is left'
tidbnumactl release --all
dpkg --remove tidbnumad
for unit in "${!cpus_before[@]}"; do
        is "$(cpus_of "$unit")" "${cpus_before[$unit]}" "$unit runs on, as before the installation"
done
check 'nothing runs' test -z "$(pidof tidbnumad tidbnumad-exporter)"
artifact "$policy_file"
plan
