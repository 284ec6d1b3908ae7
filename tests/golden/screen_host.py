"""The host of the screens: what stands in /proc, /sys, /run and /etc while tidbnumactl runs there, and a daemon that answers it.

The machine of plans/epyc8 with two tidb, two tikv, a pd and a haproxy, named as on the emulated host of ./dev demo. It takes the
place of this host by mounts, so only a process in mount and PID namespaces of its own may call take_over().
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))

import dbus_peer
from host import write
from machine import Machine
from situations import GIB, Situation, node_cpus

HERE = os.path.dirname(os.path.realpath(__file__))
DAEMON_PID, FIRST_SERVER_PID = 2, 3  # the first children of this PID namespace: the program looks at them by descriptors
STATUS = "/run/tidbnumad/status.json"
CONTROL = "/run/tidbnumad/control"
POLICY_FILE = "/etc/tidbnumad.d/tidb.yaml"
REFUSED, UNKNOWN = "org.tidbnumad.Error.Refused", "org.tidbnumad.Error.UnknownName"
USERS = {"root": 0, "tidb": 997, "nobody": 65534}

POLICY = """version: 1
policies:
  - name: tikv
    match: {exe: tikv-server, unit: "tikv-*.service", user: tidb}
    place: {count: 1, near: storage}
    memory: bind
  - name: tidb
    match: {exe: tidb-server, unit: "tidb-*.service", user: tidb}
    memory: bind
  - name: pd
    match: {exe: pd-server, unit: "pd-*.service", user: tidb}
    place: {share: shared}
  - name: haproxy
    match: {exe: haproxy, unit: haproxy.service}
    place: {share: shared}
host:
  numa_balancing: off
  reserve: {nodes: nic}
irq:
  - match: {net: "*"}
    steer: reserved
"""
BROKEN = POLICY.replace("near: storage", "near: storrage").replace("memory: bind", "memory: bound", 1)
MISNAMED = POLICY.replace('"tikv-*', '"storage-*')  # the units have other names

# name, program, node once it is bound, disk, GiB of anonymous memory
SERVERS = (("tidb-4000", "tidb-server", 1, None, 12), ("tidb-4001", "tidb-server", 4, None, 14),
           ("tikv-20160", "tikv-server", 3, 3, 40), ("tikv-20161", "tikv-server", 6, 6, 38),
           ("pd-2379", "pd-server", 2, None, 2), ("haproxy", "haproxy", 2, None, 1))


# Where a plan with nothing bound puts them, and the healthy host has them: PD gets a node to itself.
PLANNED_NODES = {"pd-2379": 5}

# By what of their start threads are restricted by hand; "": by nothing that it has.
HAND = {"tidb-4000": "CPUAffinity=", "tidb-4001": "taskset", "tikv-20160": ""}


def spread(gib):
    return {node: gib * GIB // 8 for node in range(8)}


def on(node, gib):
    return {node: gib * GIB}


def lay_out(root, kind):
    """/proc and /sys below root: with servers on all nodes ("unbound"), or where the daemon keeps them ("bound", and "healthy" with settings
    that check wants); "by-hand", some are on CPUs 0-15, half of nodes 0 and 1, as their threads or their unit have it."""
    bound, by_hand, healthy = kind in ("bound", "healthy"), kind == "by-hand", kind == "healthy"
    s = Situation()
    for i, (name, program, node, disk, gib) in enumerate(SERVERS):
        pid = FIRST_SERVER_PID + i
        node = PLANNED_NODES.get(name, node) if healthy else node
        at_home = healthy or bound and name != "tikv-20161"  # its memory is still being moved
        s.service(pid, program, name, node_cpus(node) if bound else "0-127", mems=str(node) if at_home else "0-7",
                  anon=on(node, gib) if at_home else spread(gib), **({"max": 50 * GIB} if healthy and gib > 2 else {}))
        if by_hand and name in HAND:
            s.host.processes[-1]["threads"] = [["0-15", 0]]
        if by_hand and name == "tikv-20161":
            s.unit("system.slice/tikv-20161.service", "0-15", "0-1", anon=spread(gib))
        s.files["proc/%d/environ" % pid] = "GOMAXPROCS=128\0" if name == "tidb-4001" and not healthy else ""
        if disk is not None:
            s.files["proc/%d/cmdline" % pid] = "tikv-server\0--data-dir\0/tidb-data/%s\0" % name
            s.files["proc/%d/mountinfo" % pid] = "%d 21 259:%d / /tidb-data/%s rw - ext4 /dev/nvme%dn1 rw\n" % (
                mount_id("/run/root/tidb-data/" + name), disk, name, disk)
        s.files["proc/%d/root" % pid] = ("link", "/run/root")
        s.files["proc/%d/numa_maps" % pid] = numa_maps(node if at_home else None, gib)
    s.process(DAEMON_PID, "tidbnumad", "system.slice/tidbnumad.service")
    for p in s.host.processes:
        p["uid"] = 0 if p["pid"] == DAEMON_PID or p["exe"].endswith("haproxy") else USERS["tidb"]
        s.files["proc/%d/comm" % p["pid"]] = p["comm"] + "\n"
        s.files["proc/%d/statm" % p["pid"]] = "1000 500 200 100 0 300 0\n"
    settings(s, bound, healthy)
    s.put_on(root)
    for p in s.host.processes:
        for name in "environ", "numa_maps":
            path = os.path.join(root, "proc", str(p["pid"]), name)
            if os.path.exists(path):
                os.chmod(path, 0o400)
                os.chown(path, p["uid"], p["uid"])


def settings(s, bound, healthy):
    s.files.update({
        "proc/sys/kernel/numa_balancing": "%d\n" % (not bound), "proc/sys/vm/zone_reclaim_mode": "0\n",
        "proc/sys/vm/swappiness": "10\n" if healthy else "60\n", "proc/sys/kernel/hostname": "db7\n", "proc/uptime": "90000.00 100.00\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" if healthy else "[always] madvise never\n"})


def numa_maps(node, gib):
    nodes = range(8) if node is None else [node]
    pages = gib * GIB // 4096 // len(nodes)
    return "7f0000000000 default anon=%d dirty=%d %s kernelpagesize_kB=4\n" % (
        pages * len(nodes), pages * len(nodes), " ".join("N%d=%d" % (n, pages) for n in nodes))


# --- what the daemon publishes --------------------------------------------------------------------------------------------

def published(bound, by_hand=False, healthy=False):
    """status.json: all bound but the second tikv, whose memory is being moved, and a tidb that somebody binds otherwise; healthy: all."""
    rows = []
    for i, (name, program, node, disk, gib) in enumerate(SERVERS):
        node = node if bound and not healthy else PLANNED_NODES.get(name, node)
        row = {"name": name, "policy": name.split("-")[0], "unit": name + ".service", "exe": "/srv/bin/" + program,
               "pid": FIRST_SERVER_PID + i, "ports": [], "data_dir": "/tidb-data/" + name if disk is not None else None,
               "state": "bound", "reason": "", "reason_code": None, "remedy": None, "bound_by": "unit", "bound_by_reason": None,
               "nodes": str(node), "cpus": node_cpus(node), "memory_mode": "bind", "basis": "chosen", "warnings": [], "cpu_bound": True, "memory_bound": True, "threads": 40,
               "memory_by_node": [{"node": node, "anon_bytes": gib * GIB}], "remote_memory_ratio": 0.0,
               "migration_left_seconds": None, "pending_bytes": 0, **({"changed": True} if bound else {})}
        if by_hand:
            row["start_cpus_by"] = HAND.get(name, "")
        if not bound:
            row.update(state="planned", reason="the daemon changes nothing; next it would bind the CPUs", reason_code="observe",
                       remedy="run tidbnumactl resume, or set enforcement.mode: enforce", cpu_bound=False, memory_bound=False,
                       memory_by_node=[{"node": n, "anon_bytes": v} for n, v in spread(gib).items()], remote_memory_ratio=0.875)
        elif healthy:
            pass
        elif name == "tikv-20161":
            row.update(state="moving", memory_bound=False, remote_memory_ratio=0.25, pending_bytes=gib * GIB // 4,
                       migration_left_seconds=38, memory_by_node=[{"node": 6, "anon_bytes": gib * GIB * 3 // 4},
                                                                  {"node": 0, "anon_bytes": gib * GIB // 8},
                                                                  {"node": 1, "anon_bytes": gib * GIB // 8}])
        elif name == "tidb-4001":
            row.update(state="partly", cpu_bound=False, reason_code="contested", reason="something else keeps changing its CPUs",
                       remedy="find and stop the other program; the daemon tries again after a minute")
        rows.append(row)
    return {"version": "VERSION", "time_seconds": time.time() - 3, "sample_interval_seconds": 10, "enforcing": bound, "mode": "enforcing" if bound else "observing",
            "backend": "unit", "instances": rows, "process": {"pid": DAEMON_PID}, "reserved_nodes": "0", "reserved_cpus": "",
            "policy": {"load_success": True, "load_time_seconds": time.time(), "errors": [], "policies": [{}] * 4},
            "releases": [], "units": [], "ignored": {"user": 0 if healthy else 1},
            "ignored_processes": [] if healthy else [{"pid": 4711, "exe": "/home/eve/tikv-server", "policy": "tikv", "reason": "it belongs to another user"}],
            "interrupts": {"devices": [{"name": "eth0", "node": 0, "steered": 17, "cpus": node_cpus(0), "reason_code": "",
                                        "reason": ""}]}}


def publish(status):
    with open(STATUS + ".new", "w", encoding="utf-8") as f:
        json.dump(status, f)
    os.rename(STATUS + ".new", STATUS)


def answer(member, names):
    """The daemon as far as the tool sees it."""
    with open(STATUS, encoding="utf-8") as f:
        status = json.load(f)
    with open(POLICY_FILE, encoding="utf-8") as f:
        text = f.read()
    lines = []
    if member == "Reload" and "storrage" in text:
        return REFUSED, "the policies are refused, and those in force stay:\n%s:5:28: `storrage`" % POLICY_FILE
    if member == "Reload":
        lines = ["4 policies are in force"]
    elif member == "Pause":
        status["enforcing"] = False
        lines = ["Paused: nothing is changed until 'tidbnumactl resume' or the next boot. Bindings are kept."]
    elif member == "Resume":
        if "mode: observe" in text:
            return REFUSED, "not paused by 'tidbnumactl pause': a policy file sets enforcement.mode: observe; change that file"
        status["enforcing"] = True
        lines = ["Resumed."]
    elif member == "Release":
        for row in status["instances"]:
            if row["name"] in names:
                row.update(state="released", reason="released on request; original binding restored, monitoring only",
                           reason_code="released", remedy="")
                lines.append(row["name"] + ": " + row["reason"])
        if not lines:
            return UNKNOWN, "no instance, unit or device is named '%s', did you mean '%s0'?" % (names[0], names[0])
    publish(status)
    return lines


def listen():
    while not os.path.exists(STATUS):  # until take_over() and the first publish()
        time.sleep(0.01)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(CONTROL)
    os.chmod(CONTROL, 0o600)
    sock.listen()
    dbus_peer.serve(sock, answer)


def start_processes():
    """The daemon, and for each server somebody who has its number."""
    for i in range(1 + len(SERVERS)):
        if os.fork() == 0:
            listen() if i == 0 else signal.pause()


def let_listen(there):
    """Can the daemon be called?"""
    away, end = CONTROL + ".away", time.monotonic() + 30
    while not os.path.exists(CONTROL) and not os.path.exists(away) and time.monotonic() < end:
        time.sleep(0.01)
    if os.path.exists(away if there else CONTROL):
        os.rename(*((away, CONTROL) if there else (CONTROL, away)))


# --- in the place of this host ----------------------------------------------------------------------------------------------

JOURNAL = """#!/bin/sh
case " $* " in *TIDBNUMAD_INSTANCE=tidb-4001*) ;; *) exit 0 ;; esac
cat <<'END'
{"__REALTIME_TIMESTAMP": "1790000000000000", "MESSAGE": "tidb-4001: CPUs bound to 32-39,96-103, memory to node 4"}
{"__REALTIME_TIMESTAMP": "1790000300000000", "MESSAGE": "tidb-4001: something else changed its CPUs to 0-127 instead of 32-39,96-103; restored"}
END
"""


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def mount_id(point):
    """What the kernel calls the mount there: the program asks it where a data directory is."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return next(int(line.split()[0]) for line in f if line.split()[4] == point)


def mount_empty(path, *options):
    os.makedirs(path, exist_ok=True)
    mount("-t", "tmpfs", *options, "tmpfs", path)


def take_over(work):
    """Everything here, for a minute. The machine's folders are in `work`, bound or not."""
    for path in "/run", "/etc":
        mount_empty(path, "-o", "mode=755")
    for server in SERVERS:
        mount_empty("/run/root/tidb-data/" + server[0])
    for kind in "bound", "unbound", "by-hand", "healthy":
        root = os.path.join(work, kind)
        mount_empty(root, "-o", "mode=755")
        machine = Machine(os.path.join(HERE, "plans/epyc8/machine.json"))
        machine.spec["cards"]["eth0"]["queues"] = 16
        machine.build(root)
        lay_out(root, kind)
        os.symlink("/run/kernel/self", os.path.join(root, "proc/self"))
        for i in range(len(SERVERS)):  # which a user may not see of others' processes: the kernel decides
            ns = "%d/ns" % (FIRST_SERVER_PID + i)
            os.symlink("/run/kernel/" + ns, os.path.join(root, "proc", ns))
    write(os.path.join(work, "bin/journalctl"), JOURNAL)
    os.chmod(os.path.join(work, "bin/journalctl"), 0o755)
    os.makedirs("/run/kernel")
    mount("-t", "proc", "proc", "/run/kernel")  # for those who look at themselves, by /proc/self
    for path in "/run/systemd/system", "/run/tidbnumad", "/run/tidbnumad.d", "/run/out":
        os.makedirs(path)
    write("/etc/passwd", "".join("%s:x:%d:%d::/:/bin/sh\n" % (user, uid, uid) for user, uid in USERS.items()))
    write("/etc/group", "".join("%s:x:%d:\n" % (user, uid) for user, uid in USERS.items()))


def be(work, kind):
    """/proc and /sys; the last mount is the one that is seen."""
    machine = os.path.join(work, kind)
    if os.path.exists("/proc/cpuinfo") and os.path.samefile("/proc/cpuinfo", os.path.join(machine, "proc/cpuinfo")):
        return
    for path in "proc", "sys":
        mount("--bind", os.path.join(machine, path), "/" + path)


def policy(text):
    write(POLICY_FILE, text)
