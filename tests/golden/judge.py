"""What the published files must say, computed a second time from the raw files of the dump.

Shares no code with the daemon and looks at no expected file, so that an expected file cannot make a
mistake the rule. `judge()` returns the contradictions, one sentence each.
"""
import json
import math
import os
import re

NODES = "sys/devices/system/node"
CPUS = "sys/devices/system/cpu"


def read(*parts):
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as f:
            return f.read().strip("\n\0 ")
    except FileNotFoundError:
        return None


def parse_list(text):
    ids = set()
    for part in (text or "").replace("\n", "").split(","):
        if part.strip():
            first, _, last = part.strip().partition("-")
            ids.update(range(int(first), int(last or first) + 1))
    return ids


def parse_mask(text):
    """cpumap: groups of eight hexadecimal digits, the highest CPUs first (the first group may be shorter)."""
    value = int("".join(group.rjust(8, "0") for group in text.split(",")), 16)
    return {bit for bit in range(value.bit_length()) if value >> bit & 1}


def online_cpus(root):
    """A CPU is offline where its own file says so; cpu/online must agree where the dump has it."""
    online = set()
    for name in os.listdir(os.path.join(root, CPUS)):
        match = re.fullmatch(r"cpu(\d+)", name)
        if match and read(root, CPUS, name, "online") != "0":
            online.add(int(match[1]))
    listed = read(root, CPUS, "online")
    return online & parse_list(listed) if listed else online


class Machine:
    def __init__(self, root):
        names = [name for name in os.listdir(os.path.join(root, NODES)) if re.fullmatch(r"node\d+", name)]
        self.ids = sorted(int(name[4:]) for name in names)
        online = online_cpus(root)
        self.cpus, self.memory, self.distances, self.packages = {}, {}, {}, {}
        for node in self.ids:
            folder = os.path.join(root, NODES, "node%d" % node)
            mask, listed = read(folder, "cpumap"), read(folder, "cpulist")
            self.cpus[node] = (parse_mask(mask) if mask else parse_list(listed)) & online
            total = re.search(r"MemTotal:\s*(\d+) kB", read(folder, "meminfo"))
            self.memory[node] = int(total[1]) * 1024
            # The kernel prints them in the order of the node numbers.
            self.distances[node] = [int(d) for d in read(folder, "distance").split()]
            packages = {read(root, CPUS, "cpu%d" % cpu, "topology/physical_package_id") for cpu in self.cpus[node]}
            self.packages[node] = int(packages.pop()) if len(packages) == 1 and None not in packages else None

    def node_of(self, cpu):
        return next((node for node in self.ids if cpu in self.cpus[node]), None)

    def cpus_of(self, nodes):
        return set().union(*(self.cpus.get(node, set()) for node in nodes)) if nodes else set()

    def with_memory(self, nodes):
        """What the kernel makes of them in cpuset.mems.effective: a node without memory is never in it."""
        return {node for node in nodes if self.memory.get(node)}


def judge_topology(machine, status):
    nodes = status["topology"]["nodes"]
    if [node["id"] for node in nodes] != machine.ids:
        yield "nodes are %s, the dump has %s" % ([node["id"] for node in nodes], machine.ids)
        return
    for node in nodes:
        n = node["id"]
        if parse_list(node["cpus"]) != machine.cpus[n]:
            yield "node %d has CPUs %s, the dump says %s" % (n, node["cpus"], sorted(machine.cpus[n]))
        if node["memory_bytes"] != machine.memory[n]:
            yield "node %d has %d bytes, the dump says %d" % (n, node["memory_bytes"], machine.memory[n])
        if machine.cpus[n] and node["package"] != machine.packages[n]:
            yield "node %d is in package %s, the dump says %s" % (n, node["package"], machine.packages[n])
        if node["distances"] != machine.distances[n] and not (len(nodes) == 1 and node["distances"] is None):
            yield "node %d has distances %s, the dump says %s" % (n, node["distances"], machine.distances[n])


def numa_stat(root, cgroup):
    """{kind: {node: bytes}} as the unit's file has it, or None."""
    text = read(root, "sys/fs/cgroup", cgroup, "memory.numa_stat")
    if text is None:
        return None
    return {words[0]: {int(v[1:v.index("=")]): int(v[v.index("=") + 1:]) for v in words[1:]}
            for words in (line.split() for line in text.splitlines())}


def is_service(unit):
    """A system service; a user's manager is one as well, but not what runs below it."""
    return unit is not None and unit.endswith(".service") and not unit.startswith("user@")


def members(root, instance, pids_of_unit):
    """The instance's pids: all of its executable in its unit, or the one."""
    if not is_service(instance["unit"]):
        return [instance["pid"]]
    base = os.path.basename(instance["exe"])
    return [pid for pid in pids_of_unit
            if os.path.lexists(os.path.join(root, "proc", str(pid), "exe")) and
            os.path.basename(os.readlink(os.path.join(root, "proc", str(pid), "exe"))).split(" (")[0] == base and
            read(root, "proc", str(pid), "stat").rsplit(")", 1)[1].split()[0] != "Z"]


def threads_of(root, pids):
    """[(allowed CPUs, last CPU)] of every thread."""
    found = []
    for pid in pids:
        task = os.path.join(root, "proc", str(pid), "task")
        for tid in os.listdir(task):
            allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)$", read(task, tid, "status"), re.M)[1]
            last = int(read(task, tid, "stat").rsplit(")", 1)[1].split()[36])
            found.append((parse_list(allowed), last))
    return found


def judge_memory(machine, stat, instance, home):
    """What the sample says: bytes by node, the ratio, what is still to be moved."""
    for row in instance["memory_by_node"]:
        node = row["node"]
        anon, file, shmem = (stat.get(kind, {}).get(node, 0) for kind in ("anon", "file", "shmem"))
        if (row["anon_bytes"], row["file_bytes"], row["shmem_bytes"]) != (anon, max(file - shmem, 0), shmem):
            yield "memory on node %d is %s, memory.numa_stat says anon %d, file %d with shmem %d" % (
                node, row, anon, file, shmem)
    anon = {node: stat["anon"].get(node, 0) for node in machine.ids}
    outside = sum(count for node, count in anon.items() if node not in home)
    ratio, total = instance["remote_memory_ratio"], sum(anon.values())
    if (ratio is None) != (total == 0) or total and not math.isclose(ratio, outside / total, abs_tol=1e-12):
        yield "the remote ratio is %s, memory.numa_stat says %d of %d bytes" % (ratio, outside, total)
    pending = outside if instance["nodes"] and instance["memory_mode"] != "none" else 0
    if instance["pending_bytes"] != pending:
        yield "%d bytes are pending, memory.numa_stat says %d" % (instance["pending_bytes"], pending)
    moved = re.fullmatch(r"would move ([\d.]+) MiB", instance["reason"])
    if moved and abs(float(moved[1]) - outside / 2 ** 20) > 0.051:
        yield "it says '%s', memory.numa_stat %d bytes" % (instance["reason"], outside)


def judge_plan(machine, instance, unit_cpus, unit_mems):
    """Is the action that it names the next one, with the right set?"""
    nodes, cpus = parse_list(instance["nodes"]), parse_list(instance["cpus"])
    if cpus != machine.cpus_of(nodes):
        yield "its CPUs are %s, those of nodes %s are %s" % (
            instance["cpus"], instance["nodes"], sorted(machine.cpus_of(nodes)))
    if not nodes:
        if instance["state"] != "watched":
            yield "it has no nodes and its state is '%s'" % instance["state"]
        return
    if not is_service(instance["unit"]):
        by, action = (("scope", "would move it to its own scope") if (instance["unit"] or "").endswith(".scope")
                      else ("affinity", "would set CPUs " + instance["cpus"]))
        if (instance["bound_by"], instance["state"]) != (by, "planned") or not instance["reason"].startswith(action):
            yield "it runs in %s, so it is to be bound by %s, and it is '%s' by %s (%s)" % (
                instance["unit"] or "no unit", by, instance["state"], instance["bound_by"], instance["reason"])
        return
    match = re.fullmatch(r"would set (\w+)=(\S+)", instance["reason"])
    if match and match[1] == "AllowedCPUs":
        if parse_list(match[2]) != cpus:
            yield "it would set %s, its nodes' CPUs are %s" % (match[2], sorted(cpus))
        if unit_cpus == cpus:
            yield "it would set AllowedCPUs=%s, which its unit has already" % match[2]
    elif match:
        mems = machine.with_memory(nodes)
        wanted = mems if unit_mems >= mems else unit_mems | mems
        if parse_list(match[2]) != wanted:
            yield "it %s, expected %s" % (match[0], sorted(wanted))
        if unit_mems == wanted:
            yield "%s, which its unit has already" % match[0]
    elif instance["state"] in ("planned", "bound") and unit_cpus != cpus:
        yield "it is '%s' (%s), but its unit may use CPUs %s" % (
            instance["state"], instance["reason"], sorted(unit_cpus or []))


def judge_instance(root, machine, instance):
    cgroup = read(root, "proc", str(instance["pid"]), "cgroup").split("::/")[1]
    folder = os.path.join(root, "sys/fs/cgroup", cgroup)
    pids = [int(pid) for pid in (read(folder, "cgroup.procs") or "").split()]
    threads = threads_of(root, members(root, instance, pids))
    cpus, nodes = parse_list(instance["cpus"]), parse_list(instance["nodes"])
    off = sum(1 for allowed, _ in threads if allowed != cpus) if nodes else 0
    if (instance["threads"], instance["threads_outside"]) != (len(threads), off):
        yield "%d threads, %d outside; the dump has %d, %d" % (
            instance["threads"], instance["threads_outside"], len(threads), off)
    has_cpuset = read(folder, "cpuset.cpus.effective") is not None
    unit_cpus = parse_list(read(folder, "cpuset.cpus.effective")) if has_cpuset else None
    unit_mems = parse_list(read(folder, "cpuset.mems.effective")) if has_cpuset else machine.with_memory(machine.ids)
    yield from judge_plan(machine, instance, unit_cpus, unit_mems)
    stat = numa_stat(root, cgroup) if instance["unit"] else None
    outside = None
    if instance["memory_by_node"] is not None:
        if stat is None:
            yield "it has a sample, and its unit no memory.numa_stat"
            return
        home = nodes or {machine.node_of(last) for _, last in threads}
        outside = sum(count for node, count in stat["anon"].items() if node not in home)
        yield from judge_memory(machine, stat, instance, home)
    bound = bool(nodes) and unit_cpus == cpus and all(allowed <= cpus for allowed, _ in threads)
    if instance["cpu_bound"] != bound:
        yield "cpu_bound is %s, the dump says %s" % (instance["cpu_bound"], bound)
    mode = instance["memory_mode"]
    bound = bool(nodes) and outside == 0 and (mode == "preferred" or mode == "bind" and unit_mems == machine.with_memory(nodes))
    if instance["memory_bound"] != bound:
        yield "memory_bound is %s, the dump says %s" % (instance["memory_bound"], bound)
    settled = instance["cpu_bound"] and (mode == "none" or outside in (0, None))
    if instance["state"] == "bound" and not settled:
        yield "its state is 'bound', and it is not"


SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def samples_of(text):
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            samples[(name, *(value for _, value in LABEL.findall(labels or "")))] = float(value)
    return samples


def samples_wanted(status):
    """What the metrics must be where status.json says the same."""
    yield ("tidbnumad_policy_load_success",), status["policy"]["load_success"]
    yield ("tidbnumad_policies",), len(status["policy"]["policies"])
    yield ("tidbnumad_enforcing",), status["enforcing"]
    yield ("tidbnumad_ready",), status["ready"]
    for i in status["instances"]:
        key = (i["policy"], i["name"])
        yield ("tidbnumad_instance_info", *key, str(i["pid"]), i["exe"], i["unit"] or "", i["backend"], i["nodes"],
               i["cpus"]), 1
        yield ("tidbnumad_instance_bind_wanted", *key), i["state"] != "released" and len(status["policy"]["policies"]) > 0
        yield ("tidbnumad_instance_bound", *key, "cpu"), i["cpu_bound"]
        yield ("tidbnumad_instance_bound", *key, "memory"), i["memory_bound"]
        yield ("tidbnumad_instance_threads", *key), i["threads"]
        yield ("tidbnumad_instance_threads_outside", *key), i["threads_outside"]
        yield ("tidbnumad_migration_pending_bytes", *key), i["pending_bytes"]
        yield ("tidbnumad_instance_remote_memory_ratio", *key), i["remote_memory_ratio"]
        for row in i["memory_by_node"] or []:
            for kind in ("anon", "file", "shmem"):
                yield ("tidbnumad_instance_memory_bytes", *key, str(row["node"]), kind), row[kind + "_bytes"]


def judge_metrics(status, text):
    samples = samples_of(text)
    for key, value in samples_wanted(status):
        found = samples.get(key)
        if (found is None) != (value is None) or value is not None and abs(found - value) > 1e-9:
            yield "the sample %s is %s, status.json says %s" % ("|".join(key), found, value)
    instances = {(i["policy"], i["name"]) for i in status["instances"]}
    for key in samples:
        if key[0].startswith("tidbnumad_instance_") and key[1:3] not in instances:
            yield "the sample %s is of no instance" % "|".join(key)


def judge(root, status_text, metrics_text):
    status = json.loads(status_text)
    machine = Machine(root)
    problems = list(judge_topology(machine, status))
    for instance in status["instances"]:
        problems += ["%s: %s" % (instance["name"], problem) for problem in judge_instance(root, machine, instance)]
    return problems + list(judge_metrics(status, metrics_text))
