# shellcheck shell=bash
# about: a bound service goes to another node: the files that it alone maps move gently too, before the kernel would move them at once
# long machines: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

unit=tikv-20160.service
group=/sys/fs/cgroup/system.slice/$unit

bind_to() {
        policy rebind <<EOT
version: 1
policies:
  - {name: tikv, match: {exe: tikv-server, user: tidb}, place: {nodes: $1}, memory: bind, rate: 24MiB/s}
sampling: {interval: 2s}
EOT
        systemctl reload tidbnumad
}
bound_to() {
        kview on "$unit=$1" && kview held "$unit=$1"
}
# mapped NODE: MiB of files that it has mapped and that are on this node
mapped() {
        awk -v node="$1" '/ file=\/tidb-data\// { for (i = 3; i <= NF; i++) if ($i ~ "^N" node "=") n += substr($i, length(node) + 3) }
                END { printf "%d\n", n / 256 }' "/proc/$pid/numa_maps"
}
file_is_on() { # NODE MIB
        (($(mapped "$1") >= $2))
}
# watch_way FROM: what was on that node when the kernel still let it have memory there, line by line
watch_way() {
        local mems
        while mems=$(<"$group/cpuset.mems.effective") && [[ $mems == *[,-]* || $mems == "$1" ]]; do
                echo "$mems $(mapped "$1")"
                sleep 0.05
        done
}

mount_data 3 /tidb-data/tikv-20160
workload_unit tikv 20160 tikv-server - --anon 32M --file 64M --data-dir /tidb-data/tikv-20160 --threads 3
install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready

step 'bound to node 3 from its start'
bind_to 3
workload_start tikv-20160
wait_until 120 'tikv-20160 is bound to node 3' bound_to 3
pid=$(main_pid tikv-20160)
wait_until 120 'and has the file that it maps there, most of it' file_is_on 3 32
ok 'and has the file that it maps there, most of it'

step 'goes to node 5'
watch_way 3 >"$ARTIFACTS/way" &
watcher=$!
bind_to 5
wait_until 240 'tikv-20160 is bound to node 5' bound_to 5
wait "$watcher"
tail -n 3 "$ARTIFACTS/way"
check 'it was allowed both nodes meanwhile' grep -qE '^3,5 ' "$ARTIFACTS/way"
check 'its file left gently, before node 3 was taken from it' test "$(tail -n 1 "$ARTIFACTS/way" | cut -d' ' -f2)" -le 12
wait_until 60 'the file is on node 5' file_is_on 5 60
ok 'the file is on node 5'
is "$(main_pid tikv-20160)" "$pid" 'it runs on'
plan
