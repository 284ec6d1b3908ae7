# shellcheck shell=bash
# about: the scrape is what promtool accepts, its ratios are those of numa_maps, observing changes nothing; accesses are counted, or not and told
# machines: epyc8
# long machines: epyc8-cgroup1 epyc8-bullseye epyc8-trixie epyc8-sanitized arm16 rpm-bullseye rpm-bookworm rpm-trixie rpm-cgroup1
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# What moves here shall be the daemon's doing, and so shall what is there more of: khugepaged makes huge pages of a few small ones.
echo 0 >/proc/sys/kernel/numa_balancing
echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/defrag

# Memory in known shares against node 2: three quarters at home; an eighth; nothing; all of it.
workload_unit tidb 4000 tidb-server - --anon 64M --spread=2:3,7:1
workload_unit tidb 4001 tidb-server - --anon 64M --spread
workload_unit tidb 4002 tidb-server - --anon 32M --spread=5:1
workload_unit tidb 4003 tidb-server - --anon 32M --spread=2:1 --shmem 16M --file 16M
workload_start tidb-4000 tidb-4001 tidb-4002 tidb-4003
units=(tidb-4000 tidb-4001 tidb-4002 tidb-4003)
before=$(kview snapshot "${units[@]/%/.service}" --json)

observe_policy
need_package
mkdir -p /etc/systemd/system/tidbnumad.service.d
shipped sampling-access.conf >/etc/systemd/system/tidbnumad.service.d/sampling-access.conf # accesses are counted below
install_package
wait_until 60 'all instances are seen' metric_is 1 tidbnumad_instance_info 'name="tidb-4003"'
daemon_looks

# within_a_point UNIT: the metric against numa_maps of the same moment
within_a_point() {
        local ours theirs
        ours=$(metric tidbnumad_instance_remote_memory_ratio "name=\"$1\"")
        theirs=$(kview ratio "$1.service" --nodes 2)
        echo "$1: ratio $ours, numa_maps says $theirs of it is on node 2"
        jq -en "($ours - (1 - $theirs) | fabs) <= 0.01"
}
for unit in "${units[@]}"; do
        check "the ratio of $unit is that of numa_maps, to a point" within_a_point "$unit"
done

scrape /metrics >"$ARTIFACTS/metrics.prom"
lint=$(promtool check metrics <"$ARTIFACTS/metrics.prom" 2>&1) && accepted=yes || accepted=no
is "$accepted$lint" yes 'promtool accepts the scrape without a word'
check 'healthz says ok' scrape /healthz
is "$(metric tidbnumad_enforcing)" 0 'the metrics say that nothing is enforced'
is "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket /run/tidbnumad/metrics.sock http://localhost/nothing)" 404 'another path: 404'

# Nothing was changed: not what is allowed, not where memory lies, no property.
is "$(kview snapshot "${units[@]/%/.service}" --json)" "$before" 'observing moved and bound nothing'
check 'and set no property' bash -c '! compgen -G "/run/systemd/system.control/tidb-*"'

# --dry-run, by hand, on the same policy, which would bind now
sed -i '/^sampling:/d; /^enforcement:/d' /etc/tidbnumad.d/observe.yaml
tidbnumad --once --dry-run --runtime-dir "$ARTIFACTS/dry" 2>"$ARTIFACTS/dry.log"
is "$(jq -r '[.instances[].state] | unique | join(" ")' "$ARTIFACTS/dry/status.json")" planned 'a dry run plans'
would='would set AllowedCPUs=2'
[[ ! -d /sys/fs/cgroup/cpuset ]] || would='would set CPUs 2' # cgroup v1: no property of a unit
is "$(jq -r '.instances[0].reason' "$ARTIFACTS/dry/status.json")" "$would" 'and says what it would do'
is "$(kview snapshot "${units[@]/%/.service}" --json)" "$before" 'and does nothing'

# Accesses to memory. This machine has no counters for them: that is said once, and is all that changes. Events that the
# kernel itself counts then show the way from the threads of a process to its metrics.
workload_unit tidb 4004 tidb-server - --anon 4M --churn 20
workload_start tidb-4004
since=$(journal_cursor)

# count_accesses SAMPLING: with these keys of the section
count_accesses() {
        policy observe <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
sampling: {interval: 1s, budget: 10%, access: on$1}
enforcement: {mode: observe}
EOT
        systemctl reload tidbnumad
}

count_accesses ''
wait_until 60 'the metric says that nothing can be counted' metric_is 0 tidbnumad_access_sampling_available
daemon_looks
count_accesses ''
daemon_looks
is "$(daemon_said "$since" | grep -c 'Memory accesses are not counted')" 1 'it is said once, with the reason'
daemon_said "$since" | grep 'Memory accesses'
is "$(scrape | grep -c 'dram_accesses_total')" 0 'nothing is counted'
is "$(scrape /status | jq -r '.access_sampling | [.available, .reason != ""] | @csv')" false,true 'the status tells why'

# more_than NUMBER NAME PATTERN
more_than() {
        local value
        value=$(metric "$2" "$3")
        echo "$2 is '$value'"
        ((${value:-0} > $1))
}

# Debian's kernels refuse it above 2, with CAP_PERFMON as well.
cat /proc/sys/kernel/perf_event_paranoid
echo 2 >/proc/sys/kernel/perf_event_paranoid
count_accesses ', events: {local: "software:1", remote: "software:3"}' # its time on CPUs, context switches
wait_until 60 'the kernel counts its own events' metric_is 1 tidbnumad_access_sampling_available
for locality in local remote; do
        labels="name=\"tidb-4004\",locality=\"$locality\",source=\"policy\""
        wait_until 240 "the $locality ones of a process are counted" more_than 0 tidbnumad_instance_dram_accesses_total "$labels"
        grown=$(metric tidbnumad_instance_dram_accesses_total "$labels")
        wait_until 60 'and grow' more_than "$grown" tidbnumad_instance_dram_accesses_total "$labels"
done
check 'the ratio is a share' jq -en "$(metric tidbnumad_instance_remote_access_ratio 'name="tidb-4004"') | . > 0 and . < 1"
last=$(metric tidbnumad_instance_dram_accesses_total "$labels")
systemctl stop tidb-4004
wait_until 60 'the series go with the process' metric_is '' tidbnumad_instance_dram_accesses_total 'name="tidb-4004",locality="remote"'
check 'and stay with the policy' more_than "$((last - 1))" tidbnumad_policy_dram_accesses_total 'policy="tidb",locality="remote"'
scrape /metrics >"$ARTIFACTS/accesses.prom"
is "$(promtool check metrics <"$ARTIFACTS/accesses.prom" 2>&1)" '' 'promtool accepts these, too'
plan
