# shellcheck shell=bash
# about: each problem shows its cause and a next step; the step is taken as it is written, and the problem is gone
# in turn: epyc8
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=/etc/systemd/system
leave() {
        echo 1 >/sys/devices/system/cpu/cpu6/online
        systemctl stop 'tidb-41*.service'
        rm -rf "$units"/tidb-41* /etc/tidbnumad.d/remedies.yaml
        systemctl daemon-reload
} 2>/dev/null
trap leave EXIT

# server PORT NODES [LINE-OF-THE-UNIT…]: small, its memory on all nodes
server() {
        local port=$1
        shift
        workload_unit tidb "$port" tidb-server - --anon 16M --spread --threads 3
        ((${#@} == 0)) || sed -i "s/^User=tidb\$/&\n$(printf '%s\\n' "$@")/" "$units/tidb-$port.service"
}

# policies MODE: one for each server, so that a step for one leaves the others alone
policies() {
        cat <<EOT
version: 1
policies:
  - {name: observed, match: {exe: tidb-server, unit: tidb-4101.service, user: tidb}, place: {nodes: 1}, memory: bind}
  - {name: new, match: {exe: tidb-server, unit: tidb-4102.service, user: tidb}, place: {nodes: 2}, memory: bind}
  - {name: stays, match: {exe: tidb-server, unit: tidb-4103.service, user: tidb}, place: {nodes: 3}, memory: bind, migrate: none}
  - {name: own, match: {exe: tidb-server, unit: tidb-4104.service, user: tidb}, place: {nodes: 2}, memory: bind}
  - {name: slice, match: {exe: tidb-server, unit: tidb-4105.service, user: tidb}, place: {nodes: 2}, memory: bind}
  - {name: affinity, match: {exe: tidb-server, unit: tidb-4106.service, user: tidb}, place: {nodes: 4-5}, memory: bind}
  - {name: threads, match: {exe: tidb-server, unit: tidb-4107.service, user: tidb}, place: {nodes: 4}, memory: bind, backend: affinity}
  - {name: offline, match: {exe: tidb-server, unit: tidb-4108.service, user: tidb}, place: {nodes: 6}, memory: bind}
sampling: {interval: 2s}
enforcement: {mode: $1}
EOT
}

reload() {
        systemctl reload tidbnumad
}

# published PORT FIELD: of status.json, as any program reads it
published() {
        scrape /status | jq -r --arg name "tidb-$1" --arg field "$2" '.instances[] | select(.name == $name) | .[$field]'
}
reason_is() {
        local code
        code=$(published "$1" reason_code)
        echo "$code: $(published "$1" state): $(published "$1" reason)"
        [[ $code == "$2" ]]
}

# problem PORT REASON STEP: that is its cause, it is on the page, and the next step is this, which the sentence itself may name
problem() {
        wait_until 60 "tidb-$1 has the problem $2" reason_is "$1" "$2"
        remedy="$(published "$1" reason); $(published "$1" remedy)"
        check "$2: the next step is: $3" grep -F "$3" <<<"$remedy"
        tidbnumactl status >"$ARTIFACTS/status-$2" || true
        check "$2: the page names the instance" grep -q "tidb-$1" "$ARTIFACTS/status-$2"
}

# take_step COMMAND [INSTANCE]: as the next step has it
take_step() {
        local command
        command=$(grep -oF "$1" <<<"$remedy")
        ${command/INSTANCE/${2:-}}
}

# at_home PORT NODES: by the kernel's files; and nothing is said of it any more
at_home() {
        kview on "tidb-$1.service=$2" && held_to "tidb-$1.service" "$2" && [[ $(published "$1" reason) == '' && $(published "$1" state) == bound ]]
}
mended() {
        wait_until 120 "after the step tidb-$1 is at home" at_home "$1" "$2"
        ok "after the step tidb-$1 is on node $2, and no problem is left of it"
}

# Written before the daemon reads them: what it has prepared meanwhile would be in the way of what is set there.
server 4104 AllowedMemoryNodes=7
server 4105 Slice=tight.slice
server 4106 CPUAffinity=4
systemctl daemon-reload
install_package
server 4101
server 4103
workload_start tidb-4101 tidb-4103 # before there is a policy: what is prepared has its memory at home from the start

step 'observing'
policies observe | policy remedies
reload
problem 4101 observe 'enforcement.mode: enforce'
policies enforce | policy remedies
reload
mended 4101 1

step 'paused'
tidbnumactl pause
server 4102
workload_start tidb-4102
problem 4102 observe 'tidbnumactl resume'
take_step 'tidbnumactl resume'
mended 4102 2

step 'released'
tidbnumactl release tidb-4101
problem 4101 released 'tidbnumactl release --undo'
take_step 'tidbnumactl release --undo INSTANCE' tidb-4101
mended 4101 1

step 'a policy that cannot be read'
printf 'version: 1\npolicies:\n  - {nam: x}\n' | policy broken
check 'the reload is refused' bash -c '! systemctl reload tidbnumad'
tidbnumactl status >"$ARTIFACTS/status-broken" || true
check 'the page says where' grep -q '/etc/tidbnumad.d/broken.yaml:3:' "$ARTIFACTS/status-broken"
rm /etc/tidbnumad.d/broken.yaml
reload
tidbnumactl status >"$ARTIFACTS/status-whole" || true
is "$(grep -c broken.yaml "$ARTIFACTS/status-whole")" 0 'and nothing of it when it is away'

step 'memory that is not to be moved'
problem 4103 not-moved 'migrate: gentle'
sed -i 's/migrate: none/migrate: gentle/' /etc/tidbnumad.d/remedies.yaml
reload
mended 4103 3

step 'limits of the unit, and of the slice above it'
systemctl set-property --runtime tight.slice AllowedMemoryNodes=7
workload_start tidb-4104 tidb-4105
problem 4104 own-limits 'change these settings'
problem 4105 no-place 'widen AllowedMemoryNodes= of the unit or its slice'
sed -i '/^AllowedMemoryNodes=/d' "$units/tidb-4104.service"
systemctl daemon-reload
systemctl set-property --runtime tight.slice AllowedMemoryNodes=0-7
mended 4104 2
mended 4105 2

step 'CPUs of the unit, and of what starts it'
workload_start tidb-4106
problem 4106 unit-affinity 'remove CPUAffinity= from the unit'
sed -i '/^CPUAffinity=/d' "$units/tidb-4106.service"
systemctl daemon-reload
systemctl restart tidb-4106
mended 4106 4-5

step 'what affinity cannot bind'
server 4107
sed -i 's/ --spread / /' /tidb-deploy/tidb-4107/scripts/run_tidb.sh # it cannot spread from the CPUs that it gets at its exec
workload_start tidb-4107
problem 4107 not-strict 'memory: preferred'
sed -i '/name: threads/s/memory: bind/memory: preferred/' /etc/tidbnumad.d/remedies.yaml
reload
preferred_home() {
        kview on tidb-4107.service=4 && [[ $(published 4107 reason) == '' && $(published 4107 state) == bound ]]
}
wait_until 180 'after the step tidb-4107 is at home' preferred_home
ok 'after the step tidb-4107 is on node 4, and no problem is left of it'

step 'a node without CPUs'
echo 0 >/sys/devices/system/cpu/cpu6/online
server 4108
workload_start tidb-4108
problem 4108 no-place 'its nodes have no online CPU'
echo 1 >/sys/devices/system/cpu/cpu6/online
mended 4108 6

check 'nobody was killed for want of memory' nobody_was_killed
tidbnumactl status >"$ARTIFACTS/status-end" && healthy=yes || healthy=no
is "$healthy" yes 'the page of the end has no problem, by its exit status as well'
plan
