# shellcheck shell=bash
# about: the Ansible role on a host with systemd and servers: installs, validates, observes, checks, enforces; a second run changes nothing; what is refused or fails leaves what was in force
# long machines: epyc8-programs
# timeout: 5400

# The guest has no network, so it is its own control node: --connection=local. The play is the example of the package.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

fleet=$(mktemp -d)
units=(tidb-4000 tidb-4001)
trap 'rm -rf "$fleet" /var/lib/tidbnumad-ansible' EXIT
mkdir "$fleet/group_vars"

# group_policy NODE [MORE]: the policy of the group tidb, on the control node
group_policy() {
        cat >"$fleet/10-tidb.yaml" <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: $1}
    memory: bind
${2:-}
sampling: {interval: 2s}
EOT
}

# play NAME VARIABLE=VALUE…: sets played (its exit status) and changed; the output is an artefact
play() {
        local name=$1 variable extra=()
        shift
        for variable; do extra+=(-e "$variable"); done
        played=0
        LC_ALL=C.UTF-8 ANSIBLE_ROLES_PATH=$vm_payload/ansible/roles ANSIBLE_NOCOLOR=1 ANSIBLE_PIPELINING=1 \
                ansible-playbook -i "$fleet/inventory" "$vm_payload/ansible/site.yml" "${extra[@]}" >"$ARTIFACTS/$name" 2>&1 || played=$?
        cat "$ARTIFACTS/$name"
        changed=$(sed -n 's/^numahost .*changed=\([0-9]*\).*/\1/p' "$ARTIFACTS/$name")
}

# loads CURSOR: the modes of the policies that the daemon has loaded since, in order
loads() {
        daemon_said "$1" | sed -nE 's/^Policies in force: .*observe.*/observe/p; t; s/^Policies in force: .*/enforce/p' | paste -sd' '
}

reloads() {
        journalctl -q --after-cursor="$1" -o cat | grep -c '^Reloading tidbnumad' || true
}

both_on() {
        kview on "${units[@]/%/.service=$1}" && kview held "${units[@]/%/.service=$1}"
}

in_force() {
        (cd /etc/tidbnumad.d && sha256sum -- * && stat -c '%n %y' -- *)
}

# --- the host, and the control node ------------------------------------------------------------------------------------------

need_package
refused_calls_kill
deb=$(compgen -G "$vm_payload/debs/tidbnumad_*.deb")
for unit in "${units[@]}"; do
        workload_unit tidb "${unit#tidb-}" tidb-server - --anon 32M --spread --threads 5
done
# This one may not run on every node: a policy that puts it elsewhere is carried out in part only.
mkdir -p /etc/systemd/system/tidb-4001.service.d
printf '[Service]\nAllowedCPUs=0-5\n' >/etc/systemd/system/tidb-4001.service.d/own.conf
workload_start "${units[@]}"
printf '%s\n' '[tidb]' 'numahost ansible_connection=local' >"$fleet/inventory"
cat >"$fleet/group_vars/tidb.yml" <<EOT
tidbnumad_policies: ["$fleet/10-tidb.yaml"]
tidbnumad_package: "$deb"
tidbnumad_settle_retries: 30
tidbnumad_settle_delay: 2
EOT
before=$(for unit in "${units[@]}"; do kview threads "$unit.service" --unique; done)

# --- it installs, and only observes ------------------------------------------------------------------------------------------

cursor=$(journal_cursor)
group_policy 2
step 'the role installs the package and lays a policy: observe'
play observe
is "$played" 0 'the first run succeeds'
is "$(systemctl is-active tidbnumad) $(systemctl is-enabled tidbnumad) $(systemctl is-active tidbnumad-exporter.socket)" 'active enabled active' \
        'the package is installed, and runs'
is "$(loads "$cursor" | tr ' ' '\n' | sort -u)" observe 'the policy is in force in observe mode'
check 'the plan for this host was shown' grep -q 'tidb-4000.* 2 ' "$ARTIFACTS/observe"
is "$(for unit in "${units[@]}"; do kview threads "$unit.service" --unique; done)" "$before" 'and nobody is bound'

# --- then it enforces --------------------------------------------------------------------------------------------------------

cursor=$(journal_cursor)
step 'the role enforces'
play enforce tidbnumad_mode=enforce
is "$played" 0 'to enforce succeeds'
check 'the play ended with all bound, by the kernel' both_on 2
check 'the host was checked between' grep -q 'Check the host with the new policies' "$ARTIFACTS/enforce"
is "$(loads "$cursor")" 'observe enforce' 'it observed first, with the policy that was to be enforced'

cursor=$(journal_cursor) laid=$(in_force) records=$(find /run/tidbnumad/undo -type f | sort)
step 'a second run'
play again tidbnumad_mode=enforce
is "$played $changed" '0 0' 'a second run succeeds and changes nothing: 0 changed'
is "$(reloads "$cursor") $(loads "$cursor")" '0 ' 'and reloads nothing'
is "$(in_force)" "$laid" 'the files are the same, with their times'

# --- a policy that is refused ------------------------------------------------------------------------------------------------

group_policy 2 '    memory_nodes: nonsense'
step 'a policy with an error'
play refused tidbnumad_mode=enforce
check 'a policy with an error ends the play' test "$played" != 0
check 'with its place and its reason' grep -q '10-tidb.yaml:7:5: ' "$ARTIFACTS/refused"
is "$(reloads "$cursor") $(loads "$cursor")" '0 ' 'before any reload'
is "$(in_force)" "$laid" 'the policies in force are untouched'

# --- one that cannot be carried out ------------------------------------------------------------------------------------------

group_policy 7
step 'a policy that this host cannot carry out'
play failed tidbnumad_mode=enforce
check 'a policy that cannot be carried out fails the play' test "$played" != 0
check 'with the reason' grep -q 'The policies before this run are in force again' "$ARTIFACTS/failed"
check 'which names who was refused' grep -q 'tidb-4001' <(grep -A5 'in force again' "$ARTIFACTS/failed")
is "$(loads "$cursor")" 'enforce enforce' 'it was tried, and taken back'
check 'the former policy is the one in force' grep -q 'nodes: 2' /etc/tidbnumad.d/10-tidb.yaml
wait_until 120 'both are on the former node' both_on 2
ok 'both are on the former node again'
check 'tidbnumactl is satisfied' tidbnumactl status
is "$(find /run/tidbnumad/undo -type f | sort)" "$records" 'the undo records are those of before'

# --- other policies, and the way back ----------------------------------------------------------------------------------------

group_policy 3
step 'another node, and back'
play other tidbnumad_mode=enforce
is "$played" 0 'another policy is carried out'
check 'both are on the other node' both_on 3
play back tidbnumad_rollback=true
is "$played" 0 'the former one is laid again'
check 'and both are back' both_on 2
is "$(systemctl show -P NRestarts tidbnumad)" 0 'the daemon was never restarted'
plan
