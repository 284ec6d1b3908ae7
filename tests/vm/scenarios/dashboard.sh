# shellcheck shell=bash
# about: a round that binds, moves, repairs and steers, scraped by Prometheus in each way of the manual: every rule and every query of the dashboard has an answer
# long machines: epyc8
# timeout: 600

# What the dashboard shows of it goes to the artefacts, and from there to packaging/monitoring: panels.svg.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

work=$(mktemp -d)
installed=/usr/share/tidbnumad/monitoring
monitoring=$vm_payload/monitoring
interval=3 # seconds from scrape to scrape
jobs=(tidbnumad haproxy textfile)
happened=()

need_package
compgen -G "$vm_payload/debs/tidbnumad-monitoring_*" >/dev/null || skip 'the run was given no package tidbnumad-monitoring (--deb)'

# --- the host: three instances with memory all over it, and a card whose interrupts fire on their CPUs -------------------------

card=$(nic_of_node 2) other=$(nic_of_node 5) peer=10.99.0.2
cleanup() {
        ip netns pids peer | xargs -r kill
        ip netns delete peer
        umount --lazy /var/lib/haproxy/run/tidbnumad
}
trap cleanup EXIT
# The peer stands for other hosts: its interrupts are none of ours, and shall not fire on CPUs of instances.
for irq in "$(readlink -f "/sys/class/net/$other/device/..")"/msi_irqs/*; do
        echo 6-7 >"/proc/irq/${irq##*/}/smp_affinity_list" || true
done
ip netns add peer
ip link set "$other" netns peer
ip addr add 10.99.0.1/24 dev "$card"
ip link set "$card" up
ip -n peer addr add $peer/24 dev "$other"
ip -n peer link set "$other" up
ip netns exec peer netload serve 7000 &
reachable() { netload ask $peer 7000 1 0.2; }
wait_until 60 'the two cards hear each other' reachable

units=(tidb-4000 tikv-20160 tikv-20161)
workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 8
workload_unit tikv 20160 tikv-server - --anon 64M --spread --threads 8
workload_unit tikv 20161 tikv-server - --anon 64M --spread --threads 8
workload_start "${units[@]}"

monitored_policy() { # MODE STEER
        policy monitored <<EOT
version: 1
policies:
  - {name: tidb, match: {exe: tidb-server, user: tidb}, place: {nodes: 2}, memory: bind, rate: 4MiB/s}
  - name: tikv
    match: {exe: tikv-server, user: tidb}
    memory: bind
    rate: 4MiB/s
    instances:
      - {match: {unit: tikv-20160.service}, nodes: 3}
      - {match: {unit: tikv-20161.service}, nodes: 4}
irq:
  - {match: {net: ["eth*"]}, steer: $2, irqbalance: ignore}
sampling: {interval: 2s}
enforcement: {mode: $1}
EOT
}
monitored_policy observe leave
install_package

# --- who scrapes: as tidbnumad-exporter(8) tells ---------------------------------------------------------------------------------

systemctl start tidbnumad-exporter-tcp.socket

# Debian's haproxy, in its chroot.
[[ -e /etc/haproxy/haproxy.cfg.vm-saved ]] || cp /etc/haproxy/haproxy.cfg /etc/haproxy/haproxy.cfg.vm-saved
check "Debian's haproxy runs in a chroot" grep -qE '^[[:space:]]*chroot /var/lib/haproxy' /etc/haproxy/haproxy.cfg
cat >>/etc/haproxy/haproxy.cfg <<'EOT'

frontend tidbnumad
    mode http
    bind 127.0.0.1:9798
    default_backend tidbnumad

backend tidbnumad
    mode http
    server local unix@/run/tidbnumad/metrics.sock
EOT
mkdir -p /var/lib/haproxy/run/tidbnumad
mount --bind /run/tidbnumad /var/lib/haproxy/run/tidbnumad
systemctl start haproxy.service

prometheus-node-exporter --collector.disable-defaults --collector.textfile --web.disable-exporter-metrics \
        --collector.textfile.directory=/run/tidbnumad --web.listen-address=127.0.0.1:9100 &

# The host's name is what the dashboard calls it; one way of scraping is as good as another, so the others have other names.
job() { # NAME PORT HOST
        echo "  - {job_name: $1, static_configs: [{targets: ['127.0.0.1:$2'], labels: {instance: $3}}]}"
}
cat >"$work/prometheus.yml" <<EOT
global: {scrape_interval: ${interval}s, scrape_timeout: ${interval}s, evaluation_interval: ${interval}s}
rule_files: [$installed/tidbnumad.rules.yml]
scrape_configs:
$(job tidbnumad 9797 db1)
$(job haproxy 9798 by-haproxy)
$(job textfile 9100 by-textfile)
EOT
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address=127.0.0.1:9090 \
        --log.level=warn &

# asked QUERY: the values that Prometheus has now, one a line
asked() {
        curl -sS --fail --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query | jq -r '.data.result[].value[1]'
}
holds() {
        [[ -n $(asked "$1") ]]
}
wait_until 90 'Prometheus has scraped all three' holds 'sum(up) == 3'
wait_until 60 'and sees the instances' holds "count(tidbnumad_instance_info{job=\"tidbnumad\"}) == ${#units[@]}"

# --- the round ---------------------------------------------------------------------------------------------------------------------

begin=$(date +%s)
happens() {
        happened+=("$(date +%s)=$1")
}
# scraped_since: all that has happened so far is in two scrapes at least
scraped_since() {
        holds "min(timestamp(up)) > $1 + $interval"
}
scrapes_follow() {
        wait_until 60 'it is scraped' scraped_since "$(date +%s)"
}

happens 'traffic: the interrupts of a network card fire on CPUs of the instances'
netload ask $peer 7000 8 5
scrapes_follow
monitored_policy enforce away
systemctl reload tidbnumad
happens 'the policies are enforced: CPUs are bound, interrupts steered away, memory is moved home at 4 MiB/s and then bound'
all_bound() { holds "sum(tidbnumad_instance_bound{job=\"tidbnumad\"}) == $((2 * ${#units[@]}))"; }
wait_until 120 'all are bound, by Prometheus' all_bound
ok 'all are bound, and Prometheus knows'
scrapes_follow

repairs() { metric tidbnumad_drift_repairs_total 'policy="tikv"' | awk '{ s += $1 } END { print s + 0 }'; }
before=$(repairs)
echo 0-7 >"$(group_of tikv-20160)/cpuset.cpus"
happens 'somebody else opens the CPUs of tikv-20160, which is repaired'
repaired() { (($(repairs) > before)); }
wait_until 60 'drift is repaired' repaired
ok 'drift is repaired'

systemctl restart tidb-4000.service
happens 'tidb-4000 is started again, and has its binding before its first instruction'
wait_until 60 'tidb-4000 listens again' listens 4000
happens 'traffic again'
netload ask $peer 7000 8 5
wait_until 120 'the new one is bound' holds "sum(tidbnumad_instance_bound{job=\"tidbnumad\", kind=\"cpu\"}) == ${#units[@]}"
scrapes_follow

# --- what was scraped ------------------------------------------------------------------------------------------------------------------

metric_names() {
        sed -nE 's/^((tidbnumad|process)_[a-z0-9_]+).*/\1/p' | sort -u
}
published=$(metric_names </run/tidbnumad/metrics.prom)
# names_of JOB: of the metrics that Prometheus has from there
names_of() {
        curl -sS --fail --get --data-urlencode "match[]={job=\"$1\"}" http://127.0.0.1:9090/api/v1/label/__name__/values |
                jq -r '.data[]' | grep -v '^tidbnumad_exporter_' | metric_names
}
for job in "${jobs[@]}"; do
        is "$(names_of "$job" | comm -13 - <(echo "$published") | xargs)" '' "$job: Prometheus has every metric that is published"
        check "$job: nearly all scrapes succeed" holds "avg_over_time(up{job=\"$job\"}[$(($(date +%s) - begin))s]) > 0.8"
done
is "$(asked node_textfile_scrape_error)" 0 "node_exporter's textfile collector has nothing to complain of"

curl -sS --fail http://127.0.0.1:9090/api/v1/rules >"$work/rules.json"
is "$(jq -c '[.data.groups[].rules[] | select(.health != "ok") | .name]' "$work/rules.json")" '[]' 'every rule is evaluated'
is "$(jq -c '[.data.groups[].rules[] | select(.state == "firing") | .name]' "$work/rules.json")" '[]' 'and no alert fires'
for rule in $(jq -r '.data.groups[].rules[] | select(.type == "recording") | .name' "$work/rules.json"); do
        series=$rule
        [[ $rule == cluster:* ]] || series="$rule{instance=\"db1\"}" # those of all hosts name none
        check "$rule has series" holds "count($series) > 0"
done

# --- what the dashboard shows -----------------------------------------------------------------------------------------------------------

answers=$ARTIFACTS/answers.json
"$monitoring/ask" 127.0.0.1:9090 $installed/tidbnumad-dashboard.json $interval "$begin" $interval host=db1 >"$answers" &&
        offered=all || offered=nothing
is "$offered" all 'the dashboard offers the host, its policies and its instances'
# No emulated processor counts accesses, so this one panel stays empty here. The sandbox suite asks for it.
is "$(jq -r '.answers[] | select(.problem != null) | .panel + ": " + .problem' "$answers")" 'Remote accesses: nothing' \
        'every query has an answer with numbers and all labels of its legend, but that of accesses'

# Panel, legend, the smallest and the largest number of each series.
numbers=$(jq -r '.answers[] | .panel as $panel | .series[] | (.values | map(numbers)) as $numbers |
        select($numbers | length > 0) | [$panel, .legend, ($numbers | min), ($numbers | max)] | @tsv' "$answers")
# largest PANEL [LEGEND]: of all series whose legend holds that; nothing where there are none
largest() {
        awk -F '\t' -v panel="$1" -v legend="${2:-}" \
                '$1 == panel && index($2, legend) { if (n++ == 0 || $4 > most) most = $4 } END { if (n) print most }' <<<"$numbers"
}
something() {
        awk -v n="$(largest "$1")" 'BEGIN { exit !(n > 0) }'
}
for panel in 'Remote memory' 'Repairs of drift' 'Moved' 'Still to be moved' 'Interrupts on CPUs of instances' 'CPU' 'Time of a sample'; do
        check "$panel: more than nothing at some time" something "$panel"
done
# Faults that there were none of: noughts, and not no series.
for panel in 'Events: lost' 'Attempts to bind: failed' 'Vectors: contested' 'Vectors: failed' 'Widened memory: tikv'; do
        is "$(largest "${panel%%:*}" "${panel#*: }")" 0 "$panel: nought all the time, and there"
done

"$monitoring/picture" pick "$answers" "${happened[@]}" >"$ARTIFACTS/round.json"
"$monitoring/picture" draw "$ARTIFACTS/round.json" >"$ARTIFACTS/panels.svg"
check 'its main panels are drawn' grep -q '</svg>' "$ARTIFACTS/panels.svg"
plan
