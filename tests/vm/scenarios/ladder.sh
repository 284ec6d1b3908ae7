# shellcheck shell=bash
# about: each instance is bound by what it can have: its unit, a scope of its own, or affinity; its neighbours are left alone, and all is given back
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

slice=user-77.slice
as_tidb='setpriv --reuid=tidb --regid=tidb --init-groups'

# log_in NAME RUN_SCRIPT [PROPERTY]: a scope as a login session has it, with a shell that started the server and something else
log_in() {
        printf '%s %s &\nsleep 100000 & wait\n' "$as_tidb" "$2" >"/run/$1.sh"
        systemd-run --quiet --scope --collect --unit="$1" --slice="$slice" ${3:+-p "$3"} bash "/run/$1.sh" \
                </dev/null &>/dev/null 3>&- &
}

# An agent that starts a server and goes on, in one service: a program of its own, so here a copy of the shell.
agent_up() {
        mkdir -p /opt/agent
        cp /bin/bash /opt/agent/agent
        printf '%s %s &\nwait\n' "$as_tidb" "$1" >/opt/agent/run
        systemd-run --quiet --unit=agent /opt/agent/agent /opt/agent/run
}

all_listen() {
        local port
        for port in 4000 4001 20160 20161 2379; do
                listens "$port" || return 1
        done
}

workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 6
workload_unit tidb 4001 tidb-server - --anon 32M --spread --threads 6
workload_unit tikv 20160 tikv-server - --anon 32M --spread --threads 6
workload_unit tikv 20161 tikv-server - --anon 32M --spread --threads 6
workload_unit pd 2379 pd-server - --anon 32M --spread --threads 6
systemctl daemon-reload
systemctl start tidb-4000 tidb-4001
log_in login-1 /tidb-deploy/tikv-20160/scripts/run_tikv.sh
log_in login-2 /tidb-deploy/tikv-20161/scripts/run_tikv.sh TasksMax=200
agent_up /tidb-deploy/pd-2379/scripts/run_pd.sh
wait_until 120 'all five servers listen' all_listen
unit=$(pid_of_port 4000) policy=$(pid_of_port 4001) scope=$(pid_of_port 20160) limits=$(pid_of_port 20161)
beside=$(pid_of_port 2379)
mapfile -t neighbours < <(main_pid agent; cat "/sys/fs/cgroup/user.slice/$slice"/login-{1,2}.scope/cgroup.procs | grep -vxF -e "$scope" -e "$limits")
servers=("$unit" "$policy" "$scope" "$limits" "$beside")
is "$(home_of "$beside")" "$(home_of "${neighbours[0]}")" 'a server runs in the service of the agent that started it'
before=$(reading "${servers[@]}") beside_before=$(reading "${neighbours[@]}")
echo "$before"

step 'five situations are bound'
policy ladder <<'EOT'
version: 1
policies:
  - {name: unit, match: {exe: tidb-server, unit: tidb-4000.service}, place: {nodes: 1}}
  - {name: policy, match: {exe: tidb-server, unit: tidb-4001.service}, place: {nodes: 5}, backend: affinity, memory: preferred}
  - name: sessions
    match: {exe: tikv-server, user: tidb}
    instances:
      - {match: {port: 20160}, nodes: 2}
      - {match: {port: 20161}, nodes: 3}
  - {name: agents, match: {exe: pd-server, user: tidb}, place: {nodes: 4}}
sampling: {interval: 2s}
EOT
install_package
wait_until 90 'the service is bound by its unit' bound "$unit" 1 1 1
ok 'a service of its own is bound by its unit: CPUs, memory nodes, no page elsewhere'
wait_until 90 'the session is bound by a scope' bound "$scope" 2 2 2
ok 'what a session has started is bound by a scope of its own'
wait_until 90 'the limited session is bound by affinity' bound "$limits" 3 0-7 3
ok 'where a scope could not carry the limits: CPUs of each thread, memory at home'
wait_until 90 'the server beside the agent is bound by affinity' bound "$beside" 4 0-7 4
ok 'beside an agent: CPUs of each thread, memory at home'
wait_until 90 'the policy is followed' bound "$policy" 5 0-7 5
ok 'with backend: affinity: CPUs of each thread, memory at home'
is "$(home_of "$limits") $(home_of "$beside") $(home_of "$policy")" \
        "/user.slice/$slice/login-2.scope /system.slice/agent.service /system.slice/tidb-4001.service" 'these three are in the cgroup that they were in'
is "$(systemctl show -P AllowedCPUs agent tidb-4001 login-2.scope | tr -d '\n')" '' 'and no unit of theirs was changed'
is "$(cat "/sys/fs/cgroup/user.slice/$slice/login-2.scope/pids.max")" 200 'nor its limit'
is "$(reading "${neighbours[@]}")" "$beside_before" 'agent and neighbours are as they were'

told_is_all() {
        told_is 4000 '["unit","systemd","","bound",""]' && told_is 20160 '["scope","systemd","","bound",""]' &&
                told_is 20161 '["affinity","affinity","unit-limits","partly","not-strict"]' &&
                told_is 2379 '["affinity","affinity","shared-unit","partly","not-strict"]' &&
                told_is 4001 '["affinity","affinity","","bound",""]'
}
wait_until 60 'status says by which means, and why' told_is_all
ok 'status says of each by which means, and why not by a stronger one'
scrape /status | jq . >"$ARTIFACTS/status.json"
tidbnumactl status >"$ARTIFACTS/status.txt" || true
check 'and so do the metrics' metric_is 1 tidbnumad_instance_info 'policy="agents",.*backend="affinity"'

step 'all is given back'
drop_policy ladder
wait_until 90 'all five are as they were' reading_is "$before" "${servers[@]}"
ok 'released, all five are as they were'
is "$(reading "${neighbours[@]}")" "$beside_before" 'and so are their neighbours'
wait_until 30 'no record is left' no_records
ok 'and no record is left'

step 'numactl in a start that the daemon sees'
systemctl stop agent
workload_unit tidb 4002 tidb-server 6 --anon 32M --threads 6
own_policy() {
        policy ladder <<EOT
version: 1
policies:
  - {name: own, match: {exe: tidb-server, user: tidb}, place: $1}
sampling: {interval: 2s}
EOT
        tidbnumactl reload
}
own_policy '{count: 1}'
agent_up /tidb-deploy/tidb-4002/scripts/run_tidb.sh
wait_until 120 'it listens' listens 4002
own=$(pid_of_port 4002)
wait_until 90 'it is bound to the node of its numactl' bound "$own" 6 0-7 6
ok 'by affinity to the node of its numactl, from which its new memory comes'
before=$(reading "$own")
own_policy '{nodes: 1}'
own_is_told() {
        scrape /status | jq -e '.instances[] | select(.ports | index(4002)) | .refusal == "own-memory" and .nodes == "" and .state == "watched"'
}
wait_until 60 'a policy that names another node is refused for it' own_is_told
wait_until 60 'it has the CPUs of its start' reading_is "$before" "$own"
ok 'by a policy that names another node it is not bound away from its memory'
drop_policy ladder
plan
