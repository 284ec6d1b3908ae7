# shellcheck shell=bash
# about: ten products of a cluster by README's policies with memory limits: each is born with its share, scaled out and restarted, none is killed
# in turn: epyc8
# long machines: xeon2
# timeout: 1800
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/limit.sh
. "${VM_LIB%/*}/limit.sh"
# shellcheck source=tests/vm/guest/demo-host.sh
. "${VM_LIB%/*}/demo-host.sh"

readme=$vm_payload/README.md policy_file=/etc/tidbnumad.d/tidb.yaml
limited=(tidb-4000 tikv-20160 tiflash-9000)
others=(pd-2379 tso-3379 tiproxy-6000 cdc-8300 prometheus-9090 node_exporter-9100)

trap 'systemctl stop haproxy.service "${limited[@]/%/.service}" "${others[@]/%/.service}" tidb-4001.service
        ! mountpoint -q /tidb-data/tikv-20160 || umount /tidb-data/tikv-20160' EXIT

# --- README's policies, enforced, with the servers that size themselves limited; and one for the exporters --------------

mkdir -p /etc/tidbnumad.d
# shellcheck disable=SC2016  # backticks of Markdown
sed -n '/^```yaml$/,/^```$/p' "$readme" | sed -E '/^```/d; s/mode: observe/mode: enforce/
        s/^( *)match: \{exe: (tidb-server|tikv-server|tiflash),.*/&\n\1memory_limit: share/
        s/^host:/  - name: exporters\n    match: {unit: "*_exporter-*.service", user: tidb}\n    place: {share: shared}\n&/' >"$policy_file"
is "$(grep -c 'memory_limit: share' "$policy_file")" 3 'three of the policies limit memory'

# by_state STATE UNIT…: each of them, by status.json
by_state() {
        local state=$1 unit now all=0
        shift
        for unit; do
                now=$(scrape /status | jq -r --arg name "$unit" '.instances[] | select(.name == $name) | .state')
                [[ $now == "$state" ]] || { echo "$unit: ${now:-not there}" && all=1; }
        done
        return $all
}

# expand LIST: "0-2,5", one number a line
expand() {
        local part
        for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done
}

# is_at_home UNIT: all its threads run on the CPUs of the nodes that status.json says, by the kernel
is_at_home() {
        local nodes node cpu theirs=' '
        nodes=$(scrape /status | jq -r --arg name "$1" '.instances[] | select(.name == $name) | .nodes')
        for node in $(expand "$nodes"); do
                theirs+="$(expand "$(<"/sys/devices/system/node/node$node/cpulist")" | xargs) "
        done
        kview threads "$1.service" --unique
        for cpu in $(expand "$(kview threads "$1.service" --unique | sed 's/^cpus=//; s/ .*//' | paste -sd,)"); do
                [[ $theirs == *" $cpu "* ]] || { echo "on CPU $cpu, and node $nodes has$theirs" && return 1; }
        done
        [[ $theirs != ' ' ]]
}

# born_with_share UNIT: with the limit that was set before its start, which the kernel has and by which the server has sized itself
born_with_share() {
        local sized limit
        sized=$(sizes_of "$1" memory) limit=$(property_of "$1")
        echo "$1 sized itself by $sized, MemoryMax=$limit, the kernel has $(limit_of "$1")"
        [[ $limit != infinity && $sized == "$limit" && $(limit_of "$1") == "$limit" ]]
}

lay_out() { # UNIT BINARY ARGS…
        local unit=$1 binary=$2
        shift 2
        workload_unit "${unit%-*}" "${unit##*-}" "$binary" - "$@"
}

if compgen -G '/sys/block/nvme*n1' >/dev/null; then mount_data 3 /tidb-data/tikv-20160; fi
lay_out tidb-4000 tidb-server --anon 24M --threads 4 --sizes-first
lay_out tikv-20160 tikv-server --anon 24M --threads 4 --sizes-first
lay_out tiflash-9000 tiflash --anon 24M --threads 4 --sizes-first
lay_out pd-2379 pd-server --anon 8M --threads 2
lay_out tso-3379 pd-server --anon 8M --threads 2
lay_out tiproxy-6000 tiproxy --anon 8M --threads 2
lay_out cdc-8300 cdc --anon 8M --threads 2
lay_out prometheus-9090 prometheus --anon 8M --threads 2
lay_out node_exporter-9100 node_exporter --anon 4M --threads 1
systemctl daemon-reload

# --- each is born with its share ----------------------------------------------------------------------------------------

install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
check 'the policies are valid' tidbnumactl validate
# Where the data of a TiKV or TiFlash is, and so its node, is known when it runs: its limit is there from its second start on.
wait_until 60 'a TiDB has its limit before it starts' is_limited tidb-4000
# In the order in which TiUP starts a cluster, so that a TiDB does not get the node of a disk that a TiKV is about to use.
workload_start pd-2379 tso-3379 tiproxy-6000 tikv-20160
wait_until 120 'the TiKV is bound' by_state bound tikv-20160
daemon_looks
workload_start tidb-4000
wait_until 60 'tidb-4000 was born with its share' born_with_share tidb-4000
workload_start tiflash-9000 cdc-8300 prometheus-9090 node_exporter-9100
demo_haproxy_up
wait_until 120 'all ten are bound' by_state bound "${limited[@]}" "${others[@]}" haproxy
tidbnumactl status | tee -a "$ARTIFACTS/status"
for unit in "${limited[@]}" "${others[@]}" haproxy; do
        wait_until 60 "$unit is on the nodes that status says" is_at_home "$unit"
done
for unit in tikv-20160 tiflash-9000; do
        restart_apart "$unit"
        wait_until 60 "$unit was born with its share" born_with_share "$unit"
done

# --- one more TiDB ------------------------------------------------------------------------------------------------------

lay_out tidb-4001 tidb-server --anon 24M --threads 4 --sizes-first
systemctl daemon-reload
wait_until 60 'one more TiDB has its limit before it starts' is_limited tidb-4001
workload_start tidb-4001
wait_until 60 'it was born with its share' born_with_share tidb-4001
wait_until 120 'all eleven are bound' by_state bound "${limited[@]}" "${others[@]}" haproxy tidb-4001

# --- restarted ----------------------------------------------------------------------------------------------------------

# A TiDB on the node of a TiKV has more while that one is stopped, whose place is known when it runs: not for long, and it has
# kept the sizes of its start.
for unit in "${limited[@]}" tidb-4001; do
        restart_apart "$unit"
        wait_until 60 "after a restart $unit was born with its share" born_with_share "$unit"
done
for unit in "${limited[@]}" tidb-4001; do
        wait_until 60 "the share of $unit is that of its start" published_is "$unit" set
done
wait_until 120 'all eleven are bound again' by_state bound "${limited[@]}" "${others[@]}" haproxy tidb-4001
for unit in "${limited[@]}" tidb-4001; do
        wait_until 60 "$unit is on the nodes that status says" is_at_home "$unit"
done
# Two on one node have no more together than it has.
scrape /status | jq '.instances[] | {name, state, nodes, memory_limit, memory_limit_bytes}'
over=$(scrape /status | jq -r '.instances[] | select(.memory_limit_bytes) | "\(.nodes) \(.memory_limit_bytes)"' |
        while read -r nodes bytes; do
                for node in $(expand "$nodes"); do echo "$node $((bytes / $(expand "$nodes" | wc -w)))"; done
        done | awk '{ sum[$1] += $2 } END { for (node in sum) print node, sum[node] }' |
        while read -r node bytes; do
                has=$(awk '$3 == "MemTotal:" { print $4 * 1024 }' "/sys/devices/system/node/node$node/meminfo")
                ((bytes <= has)) || echo "node $node: limits of $bytes bytes, memory of $has"
        done)
is "$over" '' 'no node has given away more than it has'

# --- check is clean when its remedies are applied ----------------------------------------------------------------------

found=$(tidbnumactl check) || true
echo "$found" | tee -a "$ARTIFACTS/check"
is "$(grep -E '^[a-z]+ +(server-sizes|kept-pools|node-exceeded|memory-limit|labels) ' <<<"$found")" '' \
        'check finds no server that takes more than it has'
is "$(systemctl show -P NRestarts "${limited[@]}" tidb-4001 | grep -c '[1-9]')" 0 'systemd started none of them again'
check 'nobody was killed' nobody_was_killed
plan
