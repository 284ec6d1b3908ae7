"""Processes and control groups that a machine dump is given, so that the daemon finds something on it.

A case's host.json says what there is:

    units       path below sys/fs/cgroup to what the kernel shows of it: `cpus` and `mems` (the files
                cpuset.*.effective; without them the controller is not enabled) and `numa_stat` (the
                lines of memory.numa_stat; without them there is no memory controller)
    processes   pid, exe, cgroup, uid, parent, threads: a [Cpus_allowed_list, last CPU] each, the
                first is the main thread; optionally comm, state, kernel_thread, and `resident`, the
                anonymous bytes that it has by its own account
"""
import json
import os
import shutil

PF_KTHREAD = 0x00200000
PF_RANDOMIZE = 0x00400000


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def stat_line(process, tid, cpu):
    """The 52 fields of proc(5); those that nobody reads are zero."""
    flags = PF_KTHREAD if process.get("kernel_thread") else PF_RANDOMIZE
    fields = ["0"] * 53
    fields[1] = str(tid)
    fields[2] = "(%s)" % process["comm"]
    fields[3] = process.get("state", "S")
    fields[4] = str(process["parent"])
    fields[5] = fields[6] = str(process["pid"])
    fields[8] = "-1"
    fields[14] = str(process.get("cpu_seconds", 0) * 100)
    fields[9] = str(flags)
    fields[18] = "20"
    fields[20] = str(len(process["threads"]))
    fields[22] = str(1000 + process["pid"])
    fields[38] = "17"
    fields[39] = str(cpu)
    return " ".join(fields[1:]) + "\n"


def status_text(process, tid, cpus):
    uid = process["uid"]
    return (
        "Name:\t%s\nUmask:\t0022\nState:\t%s (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\n"
        "TracerPid:\t0\nUid:\t%d\t%d\t%d\t%d\nGid:\t0\t0\t0\t0\nFDSize:\t64\nThreads:\t%d\n"
        "Cpus_allowed:\tffffffff\nCpus_allowed_list:\t%s\nMems_allowed:\t00000001\nMems_allowed_list:\t0\n"
        "%svoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t0\n"
    ) % (process["comm"], process.get("state", "S"), process["pid"], tid, process["parent"],
         uid, uid, uid, uid, len(process["threads"]), cpus,
         "RssAnon:\t%8d kB\nRssFile:\t       0 kB\nRssShmem:\t       0 kB\n" % (process["resident"] >> 10)
         if "resident" in process else "")


class Host:
    def __init__(self, path):
        self.units, self.processes, self.version = {}, [], 2
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                content = json.load(f)
            self.units = content["units"]
            self.processes = content["processes"]
        for process in self.processes:
            process.setdefault("uid", 0)
            process.setdefault("parent", 1)
            process.setdefault("comm", os.path.basename(process.get("exe", "kthread"))[:15])
        self.added = []

    def put_on(self, root):
        """Adds all of it to the dump below `root`."""
        if not self.processes and not self.units:
            return
        self.add_process(root, {"pid": 1, "exe": "/usr/lib/systemd/systemd", "cgroup": "init.scope", "uid": 0,
                                "parent": 0, "comm": "systemd", "threads": [["0", 0]]})
        for process in self.processes:
            self.add_process(root, process)
        for path, unit in self.units.items():
            self.add_unit(root, path, unit)
        if self.version == 1:
            return
        self.add(root, "sys/fs/cgroup/cgroup.controllers")
        write(os.path.join(root, "sys/fs/cgroup/cgroup.controllers"), "cpuset cpu io memory pids\n")

    def add(self, root, path):
        """Remembers what take_off() has to remove: the first folder that the dump does not have."""
        parts = path.split("/")
        for i in range(1, len(parts) + 1):
            first = os.path.join(root, *parts[:i])
            if not os.path.lexists(first):
                self.added.append(first)
                return
            if first in self.added:
                return

    def add_process(self, root, process):
        self.add(root, "proc/%d" % process["pid"])
        folder = os.path.join(root, "proc", str(process["pid"]))
        for i, (cpus, last) in enumerate(process["threads"]):
            tid = process["pid"] + i
            places = [os.path.join(folder, "task", str(tid))] + ([folder] if i == 0 else [])
            for place in places:
                write(os.path.join(place, "stat"), stat_line(process, tid, last))
                write(os.path.join(place, "status"), status_text(process, tid, cpus))
        write(os.path.join(folder, "cgroup"), "".join("%s/%s\n" % (kind, process["cgroup"]) for kind in (
            ["0::"] if self.version == 2 else ["4:memory:", "3:cpuset:", "1:name=systemd:"])))
        if "exe" in process:
            os.symlink(process["exe"], os.path.join(folder, "exe"))

    def add_unit(self, root, path, unit):
        folder = os.path.join("sys/fs/cgroup", path)
        self.add(root, folder)
        folder = os.path.join(root, folder)
        write(os.path.join(folder, "cgroup.procs"),
              "".join("%d\n" % p["pid"] for p in self.processes if p["cgroup"] == path))
        if "cpus" in unit:
            write(os.path.join(folder, "cpuset.cpus.effective"), unit["cpus"] + "\n")
            write(os.path.join(folder, "cpuset.mems.effective"), unit["mems"] + "\n")
        if "numa_stat" in unit:
            write(os.path.join(folder, "memory.numa_stat"), "".join(line + "\n" for line in unit["numa_stat"]))

    def take_off(self):
        for path in self.added:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        self.added = []
