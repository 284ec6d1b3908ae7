# shellcheck shell=bash
# about: tidbnumactl check finds what is wrong with the host, and the command that it prints mends it
# in turn: epyc8
# timeout: 600

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# state_of RULE: what the last look made of it
state_of() {
        jq -r --arg rule "$1" '.rules[] | select(.id == $rule) | .state' <<<"$found"
}
look() {
        status=0
        found=$(tidbnumactl check --json) || status=$?
}
remedy_of() {
        jq -r --arg rule "$1" '[.findings[] | select(.rule == $rule) | .remedy][0]' <<<"$found"
}
# mended RULE FILE WANTED: its remedy is a command; after it the kernel's file and the next look agree
mended() {
        local rule=$1 file=$2 wanted=$3 command
        look
        is "$(state_of "$rule")" warning "$rule: it is found"
        is "$status" 1 "$rule: the exit status says that there are warnings"
        command=$(remedy_of "$rule")
        bash -c "$command"
        check "$rule: '$command' did it" grep -qF "$wanted" "$file"
        look
        is "$(state_of "$rule")" ok "$rule: the finding is gone"
}

install_package
wait_until 60 'the daemon is up' metric_is 1 tidbnumad_ready

# --- settings of the host -----------------------------------------------------------------------------------------------

balancing=$(</proc/sys/kernel/numa_balancing)
sysctl -qw kernel.numa_balancing=1 vm.zone_reclaim_mode=1 vm.swappiness=60
echo always >/sys/kernel/mm/transparent_hugepage/enabled
mended numa-balancing /proc/sys/kernel/numa_balancing 0
mended zone-reclaim /proc/sys/vm/zone_reclaim_mode 0
mended swap /proc/sys/vm/swappiness 10
mended huge-pages /sys/kernel/mm/transparent_hugepage/enabled '[never]'
is "$(state_of cpuset)" ok 'the cpuset controller is there'
is "$(state_of node-sizes)" ok 'the nodes are of one size'

# --- servers ------------------------------------------------------------------------------------------------------------

# check_policy PLACE
check_policy() {
        policy check <<EOT
version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {$1}
    memory: preferred
enforcement: {mode: observe}
EOT
        systemctl reload tidbnumad
}
workload_unit tikv 20160 tikv-server 5 --anon 16M --threads 2
mkdir -p /etc/systemd/system/tikv-20160.service.d
printf '[Service]\nEnvironment=GOMAXPROCS=64\n' >/etc/systemd/system/tikv-20160.service.d/go.conf
check_policy 'nodes: 2'
workload_start tikv-20160
look
is "$(state_of bound-by-hand)" warning 'a server that numactl binds elsewhere is found'
is "$(state_of gomaxprocs)" warning 'and GOMAXPROCS for the whole host'
check 'with its name' jq -e '.findings[] | select(.rule == "bound-by-hand") | .found | startswith("tikv-20160 ")' <<<"$found"
systemctl stop tikv-20160.service
rm -r /etc/systemd/system/tikv-20160.service.d
workload_unit tikv 20160 tikv-server - --anon 16M --threads 2
systemctl daemon-reload
workload_start tikv-20160
look
is "$(state_of bound-by-hand)" ok 'without numactl the finding is gone'
check 'without GOMAXPROCS nothing is said of it' test "$(state_of gomaxprocs)" != warning

workload_unit tikv 20161 tikv-server - --anon 16M --threads 2
workload_start tikv-20161
look
is "$(state_of shared-disk)" warning 'two stores on one disk are found'
systemctl stop tikv-20161.service
look
is "$(state_of shared-disk)" ok 'and are not once one has ended'

# --- by hand, and how -----------------------------------------------------------------------------------------------------

cpulist() {
        cat "/sys/devices/system/node/node$1/cpulist"
}
half_state() {
        scrape /status | jq -r '.instances[] | select(.name == "tikv-20160") | .state + " " + .reason_code' | tee /dev/stderr
}
is_half() {
        [[ $(half_state) == 'partly unit-affinity' ]]
}
systemctl stop tikv-20160.service
mkdir -p /etc/systemd/system/tikv-20160.service.d
printf '[Service]\nCPUAffinity=%s\n' "$(cpulist 2)" >/etc/systemd/system/tikv-20160.service.d/half.conf
systemctl daemon-reload
check_policy 'nodes: "2-3"'
sed -i 's/mode: observe/mode: enforce/' /etc/tidbnumad.d/check.yaml
systemctl reload tidbnumad
is_prepared() {
        [[ -n $(systemctl show -P AllowedCPUs tikv-20160) ]]
}
wait_until 120 'its unit is prepared: CPUAffinity= has a CPU of its place' is_prepared
workload_start tikv-20160
wait_until 120 'half of the CPUs are left by CPUAffinity=, and the status says so' is_half
kview threads tikv-20160.service --unique
look
is "$(state_of bound-by-hand)" warning 'half of the CPUs of its place: it is found'
check 'with what did it' jq -e '.findings[] | select(.rule == "bound-by-hand") | .found | contains("by CPUAffinity= of its unit")' <<<"$found"
check 'and what is to be removed' grep -q '^remove CPUAffinity= from the unit' <<<"$(remedy_of bound-by-hand)"
jq -c '.findings[] | select(.rule == "bound-by-hand")' <<<"$found"
rm -r /etc/systemd/system/tikv-20160.service.d
systemctl daemon-reload
systemctl restart tikv-20160
bound_whole() {
        metric_is 1 tidbnumad_instance_bound 'name="tikv-20160".*kind="cpu"' && [[ $(half_state) == 'bound ' ]]
}
wait_until 120 'without it the server is bound to the whole of its place' bound_whole
look
is "$(state_of bound-by-hand)" ok 'and nothing is found'

# --- without root, without a daemon, and on a terminal ------------------------------------------------------------------

sysctl -qw kernel.numa_balancing=1
systemctl stop tidbnumad
look
is "$(state_of numa-balancing)" warning 'no daemon is needed'
text=$(runuser -u nobody -- tidbnumactl check) || true
check 'an ordinary user may ask' grep -q '^warning *numa-balancing (R7)' <<<"$text"
check 'the text names the command' grep -qF 'numa-balancing: sysctl -w kernel.numa_balancing=0' <<<"$text"
sysctl -qw kernel.numa_balancing="$balancing"
plan
