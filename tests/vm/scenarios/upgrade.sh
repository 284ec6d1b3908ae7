# shellcheck shell=bash
# about: an upgrade and a downgrade of the package under load move no process and no page; a removal does what on_stop says
# long machines: epyc8 epyc8-cgroup1
# timeout: 900

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

units=(tidb-4000 tikv-20160)

upgrade_policy() {
        policy upgrade <<EOT
version: 1
policies:
  - name: tidb
    match: {exe: tidb-server, user: tidb, unit: "tidb-*.service"}
    place: {nodes: 2}
    memory: bind
  - name: tikv
    match: {exe: tikv-server, user: tidb, unit: "tikv-*.service"}
    place: {nodes: 5-6}
    memory: bind
sampling: {interval: 2s}
enforcement: {on_stop: $1}
EOT
}

# The package under a lower version, its control file aside the very same.
lower_version() {
        local deb dir=/run/lower
        mkdir -p "$dir"
        for deb in "$vm_payload"/debs/tidbnumad_*.deb; do
                dpkg-deb -R "$deb" "$dir/tree"
                sed -i 's/^Version: .*/Version: 0.0.1/' "$dir/tree/DEBIAN/control"
                dpkg-deb -Znone -b "$dir/tree" "$dir/tidbnumad.deb"
        done
}

installed_version() {
        dpkg-query -W -f '${Version}' tidbnumad
}

install_version() {
        DEBIAN_FRONTEND=noninteractive dpkg --install "$1"
}

# --- the readings: of the kernel's files and of systemd, never of the daemon's ------------------------------------------

processes() {
        local unit pid
        for unit in "${units[@]}"; do
                pid=$(main_pid "$unit")
                echo "$unit $pid $(awk '{ print $22 }' "/proc/$pid/stat")"
        done
}

# By threads' CPUs and memory nodes (once each, as threads come and go), the unit's properties and its cgroup.
bindings() {
        local unit
        for unit in "${units[@]}"; do
                echo "$unit $(kview threads "$unit.service" --unique)"
                systemctl show -p AllowedCPUs -p AllowedMemoryNodes "$unit.service"
                cpuset_reading "$(group_of "$unit")"
        done
}

memory() {
        local unit
        for unit in "${units[@]}"; do
                echo "$unit" "$(kview anon "$unit.service" | paste -sd' ')"
        done
}

# The frames of the large mapping that each process filled at its start: another frame is a page that was moved.
frames() {
        local unit
        for unit in "${units[@]}"; do
                python3 -IS - "$(main_pid "$unit")" <<'EOT'
import hashlib
import re
import sys

pid, size, best = sys.argv[1], 0, None
for line in open(f"/proc/{pid}/maps"):
    m = re.match(r"(\w+)-(\w+) rw.p 0+ 00:00 0", line)
    if m and int(m[2], 16) - int(m[1], 16) > size:
        size, best = int(m[2], 16) - int(m[1], 16), int(m[1], 16)
with open(f"/proc/{pid}/pagemap", "rb") as f:
    f.seek(best // 4096 * 8)
    words = f.read(size // 4096 * 8)
frames = [int.from_bytes(words[i:i + 8], "little") for i in range(0, len(words), 8)]
present = [f & ((1 << 55) - 1) for f in frames if f >> 63]
if len(present) * 4096 < 32 << 20 or not all(present):
    sys.exit(f"{pid}: only {len(present)} frames of its largest mapping can be read")
print(pid, len(present), hashlib.sha256(str(present).encode()).hexdigest())
EOT
        done
}

records() {
        (cd /run/tidbnumad/undo && find . -name '*.json' -exec sha256sum {} + | sort -k2)
}

# Looks at the threads again and again until it is stopped; each different reading is a line.
watch_bindings() {
        local now before=''
        while [[ ! -e /run/watch-ends ]]; do
                now=$(for unit in "${units[@]}"; do kview threads "$unit.service" --unique; done | paste -sd' ')
                [[ $now == "$before" ]] || echo "$now"
                before=$now
        done
}

all_bound() {
        all_on tidb-4000.service 2 && all_on tikv-20160.service 5-6 && held_to tidb-4000.service 2 && held_to tikv-20160.service 5-6
}

finds_both() {
        metric_is 1 tidbnumad_instance_bound 'name="tidb-4000".*kind="memory"' &&
                metric_is 1 tidbnumad_instance_bound 'name="tikv-20160".*kind="memory"'
}

# change_version DEB VERSION WHAT: under load, with a watch beside it
change_version() {
        local deb=$1 version=$2 what=$3 before_processes before_bindings before_memory before_frames before_records daemon watcher
        before_processes=$(processes) before_bindings=$(bindings) before_memory=$(memory)
        before_records=$(records) daemon=$(main_pid tidbnumad)
        before_frames=$(frames) # a status of its own: what cannot be read ends the scenario
        rm -f /run/watch-ends
        watch_bindings >/run/watched &
        watcher=$!
        install_version "$deb"
        wait_until 90 "$what: another daemon runs" another_daemon "$daemon"
        wait_until 90 "$what: it finds what is bound" finds_both
        touch /run/watch-ends
        wait "$watcher"
        is "$(installed_version)" "$version" "$what: the version is the other one"
        is "$(processes)" "$before_processes" "$what: no process has started anew"
        is "$(wc -l </run/watched)" 1 "$what: all the time the threads had the same CPUs and nodes"
        is "$(bindings)" "$before_bindings" "$what: threads, units and cgroups are as before"
        is "$(memory)" "$before_memory" "$what: each node has as many bytes of them as before"
        is "$(frames)" "$before_frames" "$what: no page has moved"
        is "$(metric tidbnumad_migrated_bytes_total 'name="tikv-20160"')" 0 "$what: the daemon counts none either"
        is "$(records)" "$before_records" "$what: the undo records are the same"
}

# What the kernel moves by itself: pages into huge ones, and for larger free blocks.
huge_pages=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled)
proactiveness=$(</proc/sys/vm/compaction_proactiveness)
kernel_moves() {
        echo "$1" >/sys/kernel/mm/transparent_hugepage/enabled
        echo "$2" >/proc/sys/vm/compaction_proactiveness
}

need_package
trap 'kernel_moves "$huge_pages" "$proactiveness"' EXIT
kernel_moves never 0
lower_version
newer=$(compgen -G "$vm_payload/debs/tidbnumad_*.deb")
install_version /run/lower/tidbnumad.deb
is "$(installed_version)" 0.0.1 'the lower version is installed'
workload_unit tidb 4000 tidb-server - --anon 48M --spread --threads 8 --churn 20
workload_unit tikv 20160 tikv-server - --anon 64M --spread --threads 6
workload_start "${units[@]}"
opens=$(for unit in "${units[@]}"; do kview threads "$unit.service" --unique; done)
upgrade_policy keep
systemctl reload tidbnumad
wait_until 120 'the units are bound' all_bound
wait_until 60 'the daemon knows it' finds_both

is "$(frames | wc -l)" 2 'the physical frames of both can be read'
change_version "$newer" "$(dpkg-deb -f "$newer" Version)" upgrade
change_version /run/lower/tidbnumad.deb 0.0.1 downgrade

upgrade_policy restore
systemctl reload tidbnumad
dpkg --remove tidbnumad
is "$(for unit in "${units[@]}"; do kview threads "$unit.service" --unique; done)" "$opens" 'removed with on_stop: restore, each thread has back what it had'
check 'and no undo record is left' no_records
plan
