# shellcheck shell=bash
# about: isolated CPUs are nobody's place, prepared or bound, unless a policy names them
# machines: epyc8-isolated
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

is "$(</sys/devices/system/cpu/isolated)" 4-7 'the machine has isolated CPUs'
for port in 4000 4001 4002 4003 4004; do
        workload_unit tidb $port tidb-server - --anon 8M --threads 4
done
workload_unit pd 2379 pd-server - --anon 8M
systemctl daemon-reload
policy isolated <<'EOT'
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {share: shared}
    memory: bind
    instances: [{match: {unit: tidb-4004.service}, nodes: 6}]
  - name: pd
    match: {exe: pd-server, user: tidb, unit: "pd-*.service"}
    place: {nodes: 5}
    memory: bind
EOT
install_package

# Prepared, that is before it runs, as well as bound.
allowed() {
        systemctl show -P AllowedCPUs "$1"
}
prepared() {
        [[ -n $(allowed "$1") ]]
}
for port in 4000 4001 4002 4003; do
        wait_until 60 "tidb-$port is prepared" prepared "tidb-$port.service"
        check "tidb-$port is prepared on CPUs that are not isolated: $(allowed "tidb-$port.service")" \
                test "$(allowed "tidb-$port.service")" -lt 4
done
is "$(allowed tidb-4004.service)" 6 'but tidb-4004 on those that its policy names'
is "$(allowed pd-2379.service)" '' 'and pd-2379 not, whose nodes have no others'

for one in tidb-4000 tidb-4001 tidb-4002 tidb-4003 tidb-4004 pd-2379; do
        workload_start "$one"
done
bound() {
        { tidbnumactl status --json "$1" || true; } | jq -e '.instances[0].state == "bound"'
}
for port in 4000 4001 4002 4003; do
        wait_until 120 "tidb-$port is bound" bound "tidb-$port"
        check "each thread of tidb-$port runs on a CPU that is not isolated" \
                test "$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/"$(main_pid "tidb-$port")"/task/*/status | sort -u)" -lt 4
done
refused() {
        { tidbnumactl status --json pd-2379 || true; } | jq -e '.instances[0] | .state == "watched" or .state == "refused"'
}
wait_until 60 'what is placed on isolated CPUs only has no place' refused
check 'and the reason says so' grep -q 'isolated' <<<"$({ tidbnumactl status pd-2379 || true; })"
tidbnumactl plan --json >/tmp/plan || true # one has no place
is "$(jq -c '[.instances[] | select(.name == "pd-2379") | .refusal]' /tmp/plan)" '["isolated"]' 'plan says the same'
tidbnumactl check --json >/tmp/check || true
is "$(jq -r '[.findings[] | select(.rule == "lost-cpus") | .found] | join(" ")' /tmp/check)" \
        'CPUs 6 of tidb-4004 are isolated: the kernel does not balance threads over them' 'check warns of what is named'
plan
