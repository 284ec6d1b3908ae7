# shellcheck shell=bash
# about: servers in containers and user services: left alone and reported without containers: true, bound by affinity with it, given back
# long machines: epyc8-programs
# timeout: 1200

# The containers are those of runc, with the cgroups that Docker and the kubelet ask of it, of runc without root in a user's own
# service, and of systemd-nspawn. The user services are as TiUP's with systemd_mode: user.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

root=/var/lib/vm-container uid=$(id -u tidb) gid=$(id -g tidb)
declare -A pid=()

# --- containers ------------------------------------------------------------------------------------------------------------------

root_up() {
        mkdir -p "$root"/{bin,data,dev,etc,proc,run,sys,tmp,usr,var/tmp}
        cp "$vm_payload/bin/workload" "$root/bin/tikv-server"
        cp "$vm_payload/bin/workload" "$root/bin/pd-server"
        cp "$vm_payload/bin/workload" "$root/bin/sidecar"
}

# bundle NAME FILTER OPTION…: what runc needs to start a tikv-server with these options; FILTER changes its config.json
bundle() {
        local name=$1 filter=$2 options
        shift 2
        options=$(printf '%s\n' "$@" | jq -R . | jq -s .)
        mkdir -p "/run/bundles/$name"
        runc spec ${rootless:+--rootless} --bundle "/run/bundles/$name"
        jq --arg root "$root" --argjson options "$options" --argjson uid "$uid" --argjson gid "$gid" \
                '.process.terminal = false | .process.args = ["/bin/tikv-server"] + $options | .root = {path: $root, readonly: true} | '"$filter" \
                "/run/bundles/$name/config.json" >/run/config.json
        mv /run/config.json "/run/bundles/$name/config.json"
}

# shellcheck disable=SC2016 # variables of jq
readonly AS_TIDB='.process.user = {uid: $uid, gid: $gid}'
readonly HOST_NETWORK='.linux.namespaces |= map(select(.type != "network"))'

# contain NAME: starts its bundle, in the cgroup that its config.json says
contain() {
        runc --systemd-cgroup run --detach --pid-file "/run/bundles/$1/pid" --bundle "/run/bundles/$1" "$1" \
                </dev/null &>"/run/bundles/$1/log" 3>&-
        pid[$1]=$(<"/run/bundles/$1/pid")
}

containers_up() {
        local kubelet='"kubepods-burstable.slice:cri-containerd:" + '
        mount_data 3 /tidb-data/tikv-20161
        bundle docker "$AS_TIDB | $HOST_NETWORK | .linux.cgroupsPath = \"system.slice:docker:0123456789abcdef\"
                | .linux.resources.memory = {limit: 268435456}" --anon 32M --spread --threads 6 --addr 0.0.0.0:20160
        # With a network of its own, and a disk of the host under another path.
        bundle disk "$AS_TIDB | .linux.cgroupsPath = \"system.slice:docker:fedcba9876543210\"
                | .mounts += [{destination: \"/data\", type: \"bind\", source: \"/tidb-data/tikv-20161\", options: [\"rbind\", \"rw\"]}]" \
                --anon 32M --spread --threads 6 --addr 0.0.0.0:20161 --data-dir /data
        bundle pod "$AS_TIDB | $HOST_NETWORK | .linux.cgroupsPath = $kubelet \"pod\" | .linux.resources.cpu = {cpus: \"4-5\"}" \
                --anon 32M --spread --threads 6 --addr 0.0.0.0:20162
        bundle outside "$AS_TIDB | $HOST_NETWORK | .linux.cgroupsPath = $kubelet \"outside\" | .linux.resources.cpu = {cpus: \"4-5\"}" \
                --anon 32M --spread --threads 6 --addr 0.0.0.0:20163
        contain docker
        contain disk
        contain pod
        contain outside
        runc exec --detach --pid-file /run/bundles/sidecar.pid docker /bin/sidecar --anon 8M --spread --threads 3 </dev/null &>/dev/null 3>&-
        pid[sidecar]=$(</run/bundles/sidecar.pid)
        systemd-run --quiet --unit=nspawn systemd-nspawn --quiet --register=no --machine=field --directory="$root" --as-pid2 --console=pipe \
                --resolv-conf=off --timezone=off --link-journal=no /bin/pd-server --anon 32M --spread --threads 6 --client-urls http://127.0.0.1:2379
}

# --- a user's own manager ----------------------------------------------------------------------------------------------------------

# as_user COMMAND…: as TiUP logged in as tidb
as_user() {
        setpriv --reuid=tidb --regid=tidb --init-groups env HOME=/home/tidb "XDG_RUNTIME_DIR=/run/user/$uid" "$@"
}

# The image has no logind: it would take its time at every boot.
user_manager_up() {
        systemctl unmask systemd-logind.service
        systemctl start systemd-logind.service
        loginctl enable-linger tidb
        wait_until 120 'the user manager of tidb is up' as_user systemctl --user show-environment
}

cleanup() {
        local name
        for name in docker disk pod outside; do runc delete --force $name || true; done
        systemctl stop nspawn field.scope "user@$uid" || true
        loginctl disable-linger tidb || true
        systemctl stop systemd-logind.service || true
        systemctl mask systemd-logind.service
        rm -rf "$root" /run/bundles /home/tidb/.config
}
trap cleanup EXIT

# user_service UNIT: moves what workload_unit has written to the user's own folder
user_service() {
        local dir=/home/tidb/.config/systemd/user
        mkdir -p $dir
        sed '/^User=/d; /^Limit/d; s/multi-user/default/' "/etc/systemd/system/$1.service" >"$dir/$1.service"
        rm "/etc/systemd/system/$1.service"
}

user_services_up() {
        workload_unit tidb 4000 tidb-server - --anon 32M --spread --threads 6
        workload_unit tidb 4001 tidb-server - --anon 32M --spread --threads 6
        user_service tidb-4000
        user_service tidb-4001
        # shellcheck disable=SC2016 # variables of jq
        rootless=yes bundle rootless "$HOST_NETWORK"' | .linux.uidMappings = [{containerID: 0, hostID: $uid, size: 1}]
                | .linux.gidMappings = [{containerID: 0, hostID: $gid, size: 1}]' --anon 32M --spread --threads 6 --addr 0.0.0.0:20164
        printf '[Service]\nExecStart=/usr/sbin/runc --root=%%t/runc run --bundle /run/bundles/rootless rootless\n' \
                >/home/tidb/.config/systemd/user/rootless.service
        chown -R tidb:tidb /home/tidb/.config /run/bundles/rootless
        as_user systemctl --user daemon-reload
        as_user systemctl --user start tidb-4000 tidb-4001 rootless
}

# --- all of them -------------------------------------------------------------------------------------------------------------------

# found NAME PORT: it listens there, and its pid is known
found() {
        wait_until 120 "$1 listens" listens "$2"
        pid[$1]=$(pid_of_port "$2")
}

# spread_over NODES NAME…: the memory of each lies on so many nodes
spread_over() {
        local nodes=$1 name
        shift
        for name; do
                echo "$name: $(kview anon "${pid[$name]}" | xargs)"
                kview anon "${pid[$name]}" --json | jq -e --argjson n "$nodes" '[.[] | select(. > 1048576)] | length >= $n' || return 1
        done
}

names_to_pids() {
        local name
        for name; do echo "${pid[$name]}"; done
}

containers=(docker disk pod outside nspawn rootless) user_services=(tidb-4000 tidb-4001)

step 'containers and user services start'
root_up
user_manager_up
containers_up
user_services_up
found nspawn 2379
found rootless 20164
found tidb-4000 4000
found tidb-4001 4001
wait_until 120 'their memory is spread over all nodes' spread_over 8 docker disk nspawn rootless tidb-4000 tidb-4001
wait_until 120 'or over those that their cpusets allow' spread_over 2 pod outside
for name in "${!pid[@]}"; do echo "$name: ${pid[$name]} $(home_of "${pid[$name]}") $(readlink "/proc/${pid[$name]}/ns/pid")"; done
check "docker's scope is as Docker names it" test "$(home_of "${pid[docker]}")" = /system.slice/docker-0123456789abcdef.scope
check "the pod is in a slice of the kubelet's" grep -q '^/kubepods.slice/.*/cri-containerd-pod.scope' <(home_of "${pid[pod]}")
check 'the user services are under the user manager' grep -q "/user@$uid.service/.*/tidb-4000.service" <(home_of "${pid[tidb-4000]}")
for name in "${containers[@]}"; do
        check "$name is in a namespace of its own" test "$(readlink "/proc/${pid[$name]}/ns/pid")" != "$(readlink /proc/1/ns/pid)"
done
manager=$(main_pid "user@$uid")
mapfile -t all < <(names_to_pids "${containers[@]}" "${user_services[@]}")
mapfile -t in_containers < <(names_to_pids "${containers[@]}")
neighbours=("${pid[sidecar]}" "$manager" "$(main_pid nspawn)")
before=$(reading "${all[@]}") containers_before=$(reading "${in_containers[@]}") neighbours_before=$(reading "${neighbours[@]}")
echo "$before"

# --- left alone --------------------------------------------------------------------------------------------------------------------

places() { # [", containers: true"]
        policy field <<EOT
version: 1
policies:
  - {name: disk, match: {exe: tikv-server, user: tidb, args: "*--data-dir /data*"$1}, place: {near: storage}}
  - name: tikv
    match: {exe: tikv-server, user: tidb$1}
    instances:
      - {match: {port: 20160}, nodes: 2}
      - {match: {port: 20163}, nodes: 6}
      - {match: {port: 20164}, nodes: 1}
  - {name: pd, match: {exe: pd-server, user: root$1}, place: {nodes: 7}}
  - name: tidb
    match: {exe: tidb-server, user: tidb}
    instances:
      - {match: {port: 4000}, nodes: 0}
      - {match: {port: 4001}, nodes: 6}
sampling: {interval: 2s}
EOT
}

step 'containers are left alone'
places ''
install_package
wait_until 90 'the first user service is bound' bound "${pid[tidb-4000]}" 0 0-7 0
wait_until 90 'the second user service is bound' bound "${pid[tidb-4001]}" 6 0-7 6
ok 'user services are bound by affinity: CPUs of each thread, memory at home'
are_ignored() { metric_is "${#containers[@]}" tidbnumad_instances_ignored 'reason="namespace"'; }
wait_until 60 'the containers are counted as ignored' are_ignored
ok "all ${#containers[@]} containers are ignored, and counted"
daemon_looks
daemon_looks
is "$(reading "${in_containers[@]}")" "$containers_before" 'they are as they were'
check 'their memory as well' spread_over 8 docker disk nspawn rootless
for name in "${containers[@]}"; do
        # shellcheck disable=SC2016 # variables of jq
        check "status names $name and the key" jq -e --argjson pid "${pid[$name]}" \
                '.ignored_processes[] | select(.pid == $pid) | .reason | contains("containers: true")' <(scrape /status)
done
check 'explain names the key' grep -q 'match.containers is false' <(tidbnumactl explain "${pid[docker]}" || true)

# --- bound -------------------------------------------------------------------------------------------------------------------------

step 'containers are bound'
places ', containers: true'
systemctl reload tidbnumad
bound_in_cpuset() {
        bound "$1" 4 0-7 4 || bound "$1" 5 0-7 5
}
wait_until 120 "Docker's container is bound" bound "${pid[docker]}" 2 0-7 2
ok "Docker's: CPUs of each thread, memory at home"
wait_until 120 'the container with a disk is bound' bound "${pid[disk]}" 3 0-7 3
ok 'the one with a disk: on the node of the disk, which it has under another path'
wait_until 120 'the pod is bound' bound_in_cpuset "${pid[pod]}"
ok 'the pod: on one of the nodes that the kubelet gave it'
wait_until 120 'the container of a user is bound' bound "${pid[rootless]}" 1 0-7 1
ok "a user's, with a user namespace: CPUs of each thread, memory at home"
wait_until 120 'the container of nspawn is bound' bound "${pid[nspawn]}" 7 0-7 7
ok "nspawn's: CPUs of each thread, memory at home"
is "$(threads_of "${pid[outside]}")" 'Cpus 4-5 Mems 0-7 ' 'the pod whose place is outside of its cpuset is left alone'
outside_is_told() {
        scrape /status | jq -e '.instances[] | select(.ports | index(20163)) | (.state + ": " + .reason | stderr) |
                startswith("watched: its unit or the cgroup above it does not allow the CPUs")'
}
wait_until 60 'and that is reported' outside_is_told
ok 'and that is reported, with its reason'
told_is_all() {
        local port
        for port in 20160 20161 20164 2379; do told_is $port '["affinity","affinity","shared-unit","partly","not-strict"]' || return 1; done
        told_is 4000 '["affinity","affinity","no-unit","partly","not-strict"]'
}
wait_until 60 'status says by which means, and why' told_is_all
ok 'status says by which means, and why not by a stronger one'
scrape /status | jq . >"$ARTIFACTS/status.json"
tidbnumactl status >"$ARTIFACTS/status.txt" || true
is "$(for one in "${all[@]}"; do home_of "$one"; done)" "$(cut -d' ' -f2 <<<"$before")" 'each is in the cgroup that it was in'
is "$(systemctl show -P AllowedCPUs docker-0123456789abcdef.scope docker-fedcba9876543210.scope field.scope "user@$uid" | tr -d '\n')" '' \
        'no unit of theirs was changed'
is "$(systemctl show -P AllowedCPUs cri-containerd-pod.scope) $(</sys/fs/cgroup/system.slice/docker-0123456789abcdef.scope/memory.max)" \
        '4-5 268435456' 'nor their limits'
is "$(reading "${neighbours[@]}")" "$neighbours_before" 'the second process of a container, the user manager and nspawn itself are as they were'

# --- a user service starts again ----------------------------------------------------------------------------------------------------

former=${pid[tidb-4001]}
as_user systemctl --user restart tidb-4001
another() { [[ $(pid_of_port 4001) =~ ^[0-9]+$ && $(pid_of_port 4001) != "$former" ]]; }
wait_until 120 'another one listens' another
found tidb-4001 4001
wait_until 120 'restarted, it is bound again' bound "${pid[tidb-4001]}" 6 0-7 6
ok 'a user service that was started again is bound again'
before=${before//$former /${pid[tidb-4001]} }
mapfile -t all < <(names_to_pids "${containers[@]}" "${user_services[@]}")

# --- given back --------------------------------------------------------------------------------------------------------------------

step 'all is given back'
drop_policy field
wait_until 90 'all are as they were' reading_is "$before" "${all[@]}"
ok 'released, all are as they were'
is "$(reading "${neighbours[@]}")" "$neighbours_before" 'and so are their neighbours'
wait_until 30 'no record is left' no_records
ok 'and no record is left'
plan
