# shellcheck shell=bash
# about: huge pages that are reserved and not touched yet: memory nodes are narrowed only to pools that have them, the guard watches the pools, a restart gets its pages
# long machines: epyc8
# timeout: 1200

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# The one would move pages, the other make huge pages of a few small ones.
echo 0 >/proc/sys/kernel/numa_balancing
echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/defrag

unit=tidb-4000
# pool NODE [PAGES]: free pages of the node's pool, or sets the size of the pool
pool() {
        local dir=/sys/devices/system/node/node$1/hugepages/hugepages-2048kB
        if [[ -n ${2:-} ]]; then
                echo "$2" >"$dir/nr_hugepages"
                is "$(<"$dir/nr_hugepages")" "$2" "node $1 has a pool of $2 huge pages"
        else
                cat "$dir/free_hugepages"
        fi
}
put_back() {
        systemctl stop "$unit.service" drain.service 2>/dev/null || true
        echo 0 | tee /sys/devices/system/node/node[23]/hugepages/hugepages-2048kB/nr_hugepages
}
trap put_back EXIT

state() {
        scrape /status | jq -r --arg name "$unit" '.instances[] | select(.name == $name) | .state'
}
reason() {
        scrape /status | jq -r --arg name "$unit" '.instances[] | select(.name == $name) | .reason'
}
is_settled() { # in whatever state
        case $(state) in bound | partly | widened) ;; *) return 1 ;; esac
}
state_becomes() {
        echo "$(state): $(reason)"
        [[ $(state) == "$1" ]]
}
# touched: of the server, by numa_maps
touched() {
        awk '/ huge / { for (i = 1; i <= NF; i++) if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), at, "="); pages[at[1]] += at[2] } }
                END { for (node in pages) print "node " node ": " pages[node] }' "/proc/$(main_pid "$unit")/numa_maps" | sort | xargs
}
n_touched() {
        awk '/ huge / { for (i = 1; i <= NF; i++) if ($i ~ /^N[0-9]+=/) { split($i, at, "="); n += at[2] } } END { print n + 0 }' \
                "/proc/$(main_pid "$unit")/numa_maps"
}
has_touched() {
        touched
        [[ $(n_touched) == "$1" ]]
}
mems() {
        awk '/^Mems_allowed_list/ { print $2 }' "/proc/$(main_pid "$unit")/status"
}
# touch_rest PID: the server touches all that it has reserved
touch_rest() {
        systemctl kill --signal=USR2 --kill-whom=main "$unit.service"
        wait_until 60 "process $1 has touched all, or is gone" touched_or_gone "$1"
        systemctl show -p ExecMainCode -p ExecMainStatus -p NRestarts -p Result "$unit" | paste -sd' '
        is "$(main_pid "$unit") $(systemctl show -P NRestarts "$unit")" "$1 0" 'the server lives, and was not started again'
        is "$(n_touched)" 26 "and has touched all of its 26 pages ($(touched))"
}
touched_or_gone() {
        [[ $(main_pid "$unit") != "$1" ]] || has_touched 26
}
begin() {
        systemctl start "$unit.service"
        wait_until 60 'the server has its first pages' has_touched 2
}

pool 2 20
pool 3 20
workload_unit tidb 4000 tidb-server - --anon 16M --reserved 52M --reserved-touch 4M --spread=3:1
policy pool <<'EOT'
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}, place: {nodes: 3}, memory: bind}
sampling: {interval: 2s}
EOT

step 'its node has 20 pages, it has reserved 26'
begin
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready
wait_until 120 'its place is settled' is_settled
pid=$(main_pid "$unit")
echo "$(state): $(reason); nodes $(mems), free: $(pool 2), $(pool 3)"
touch_rest "$pid"
systemctl restart "$unit.service"
wait_until 60 'it starts again' has_touched 2
wait_until 120 'its place is settled again' is_settled
is "$(systemctl show -P NRestarts "$unit")" 0 'and at the first attempt'
is "$(state)" partly 'its memory is not bound'
is "$(reason)" "$(reason | grep -F 'reserved huge pages')" 'status.json says why'
tidbnumactl check >check.txt || true
cat check.txt
check 'check names the pool and the remedy' grep -F 'node3/hugepages/hugepages-2048kB/nr_hugepages' check.txt
touch_rest "$(main_pid "$unit")"

step 'a first start: nobody knows what it will reserve'
systemctl stop "$unit.service"
systemctl restart tidbnumad.service
wait_until 60 'the daemon is up again' metric_is 1 tidbnumad_ready
begin
wait_until 120 'its place is settled' state_becomes partly
is "$(systemctl show -P NRestarts "$unit")" 0 'it starts at the first attempt'
is "$(mems)" 0-7 'and may use all pools'

step 'the pool gets as many as it needs'
systemctl stop "$unit.service"
systemctl restart tidbnumad.service
wait_until 60 'the daemon is up again' metric_is 1 tidbnumad_ready
pool 3 30
begin
wait_until 180 'it is bound strictly' state_becomes bound
is "$(mems)" 3 'to its node alone'
touch_rest "$(main_pid "$unit")"
is "$(touched)" 'node 3: 26' 'all of its pages are there'
systemctl stop "$unit.service"
begin
is "$(mems)" 3 'the next start begins within its node'
wait_until 180 'it is bound at its next start' state_becomes bound

step 'somebody else takes pages of the node'
pid=$(main_pid "$unit")
systemd-run --quiet --unit=drain.service --property=CPUAffinity="$(</sys/devices/system/node/node3/cpulist)" \
        "$vm_payload/bin/workload" --reserved 20M --port 6666
wait_until 60 'the other program has its pages' listens 6666
echo "free: $(pool 2), $(pool 3)"
wait_until 60 'the guard has widened it' state_becomes widened
echo "$(state): $(reason); nodes $(mems)"
check 'it may use the pool of node 2 as well' test "$(mems)" = 2-3
systemctl stop drain.service
wait_until 240 'once the pages are back, it is bound strictly again' state_becomes bound
is "$(mems)" 3 'to its node alone again'
systemd-run --quiet --unit=drain.service --property=CPUAffinity="$(</sys/devices/system/node/node3/cpulist)" \
        "$vm_payload/bin/workload" --reserved 20M --port 6666
wait_until 60 'the guard has widened it once more' state_becomes widened
touch_rest "$pid"
plan
