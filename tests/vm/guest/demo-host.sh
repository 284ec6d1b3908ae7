# shellcheck shell=bash
# The host that documents and most scenarios speak of: two tidb, two tikv with their data on the NVMe disks of nodes 3
# and 6, a pd and haproxy, none with a binding of its own. To be sourced after lib.sh.

demo_units=(tidb-4000 tidb-4001 tikv-20160 tikv-20161 pd-2379)

# Up when all listen, which they do once their memory lies spread over all nodes.
demo_host_up() {
        mount_data 3 /tidb-data/tikv-20160
        mount_data 6 /tidb-data/tikv-20161
        workload_unit tidb 4000 tidb-server - --anon 96M --spread --threads 20
        workload_unit tidb 4001 tidb-server - --anon 96M --spread --threads 20
        workload_unit tikv 20160 tikv-server - --anon 96M --spread --threads 20
        workload_unit tikv 20161 tikv-server - --anon 96M --spread --threads 20
        workload_unit pd 2379 pd-server - --anon 48M --spread --threads 5
        workload_start "${demo_units[@]}"
        demo_haproxy_up
        [[ -z ${VM_INTERACTIVE:-} ]] || echo 'Six servers run, on any CPU, with their memory on all nodes: see kview, or numastat -p tikv-server.'
}

demo_haproxy_up() {
        [[ -e /etc/haproxy/haproxy.cfg.vm-saved ]] || cp /etc/haproxy/haproxy.cfg /etc/haproxy/haproxy.cfg.vm-saved
        cat >/etc/haproxy/haproxy.cfg <<'EOF'
global
        user haproxy
        group haproxy
        maxconn 1000

defaults
        mode tcp
        timeout connect 5s
        timeout client 1m
        timeout server 1m

frontend tidb
        bind 127.0.0.1:3390
        default_backend tidb

backend tidb
        balance leastconn
        server tidb-4000 127.0.0.1:4000
        server tidb-4001 127.0.0.1:4001
EOF
        systemctl start haproxy.service
        wait_until 60 'haproxy hands a caller on to a tidb' demo_answers
}

# Who answers behind haproxy: the workload greets with its name.
demo_answers() {
        [[ $(timeout 5 bash -c 'head -n 1 </dev/tcp/127.0.0.1/3390') == 'tidb-server '* ]]
}

demo_host_down() {
        systemctl stop haproxy.service "${demo_units[@]/%/.service}"
        umount /tidb-data/tikv-20160 /tidb-data/tikv-20161
}
