"""Situations on a host with eight nodes, in which the daemon and `tidbnumactl plan` must find the same plan.

Each is a function that changes a Situation: nodes' memory, units, processes and policies. They differ in what a plan
depends on. The host: 2 x EPYC, four nodes a socket, 16 CPUs and 64 GiB a node, an NVMe disk at each, the card at node 0.
"""
import os

from host import Host, write

GIB = 1 << 30
ALL_CPUS = "0-127"


def node_cpus(node):
    return "%d-%d,%d-%d" % (8 * node, 8 * node + 7, 64 + 8 * node, 64 + 8 * node + 7)


class Situation:
    def __init__(self):
        self.meminfo = {node: {"MemTotal": 64 * GIB, "MemFree": 60 * GIB} for node in range(8)}
        self.host = Host("")
        self.files = {}
        self.policy = ""

    def node(self, node, **values):
        """MemFree=4 * GIB; Inactive_file for what is written Inactive(file)."""
        self.meminfo[node].update({name.replace("_file", "(file)"): value for name, value in values.items()})

    def free(self, *gib):
        for node, value in enumerate(gib):
            self.node(node, MemFree=value * GIB)

    def process(self, pid, exe, cgroup, cpus=ALL_CPUS, parent=1):
        self.host.processes.append({"pid": pid, "exe": "/srv/bin/" + exe, "cgroup": cgroup, "uid": 997, "parent": parent,
                                    "comm": exe[:15], "threads": [[cpus, 0]]})

    def unit(self, path, cpus=ALL_CPUS, mems="0-7", **memory):
        """anon={7: 30 * GIB}, shmem, file: where they lie. max: its memory limit."""
        unit = {} if cpus is None else {"cpus": cpus, "mems": mems}
        if memory.get("counted", True):
            unit["numa_stat"] = [kind + "".join(" N%d=%d" % (node, memory.get(kind, {}).get(node, 0)) for node in range(8))
                                 for kind in ("anon", "file", "shmem")]
        self.host.units[path] = unit
        if "max" in memory:
            self.files["sys/fs/cgroup/%s/memory.max" % path] = "%s\n" % memory["max"]

    def service(self, pid, exe, name, cpus=ALL_CPUS, **more):
        path = "system.slice/%s.service" % name
        self.process(pid, exe, path, more.pop("threads", cpus))
        self.unit(path, cpus, **more)

    def listen(self, pid, *ports):
        """Sockets of the process, as its own folder shows them."""
        rows = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        for i, port in enumerate(ports):
            inode = pid * 100 + i
            rows += "%4d: 00000000:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000   997        0 %d 1\n" % (
                i, port, inode)
            self.files["proc/%d/fd/%d" % (pid, 3 + i)] = ("link", "socket:[%d]" % inode)
        self.files["proc/%d/net/tcp" % pid] = rows

    def store(self, pid, disk, where="--data-dir"):
        """Its data lies on the disk of that number, mounted at /data/DISK."""
        self.files["proc/%d/cmdline" % pid] = "tikv-server\0--addr\0:20160\0%s\0/data/%d\0" % (where, disk)
        mounts = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + "".join(
            "%d 21 259:%d / /data/%d rw - ext4 /dev/nvme%dn1 rw\n" % (30 + i, i, i, i) for i in range(8))
        self.files["proc/%d/mountinfo" % pid] = mounts

    def put_on(self, root):
        for node, values in self.meminfo.items():
            write(os.path.join(root, "sys/devices/system/node/node%d/meminfo" % node),
                  "".join("Node %d %s: %8d kB\n" % (node, name, value >> 10) for name, value in values.items()))
        self.host.put_on(root)
        for path, text in self.files.items():
            path = os.path.join(root, path)
            if isinstance(text, tuple):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(text[1], path)
            else:
                write(path, text)


    def uptime(self, seconds):
        """Processes have started 10 seconds after boot, and some hundredths."""
        self.files["proc/uptime"] = "%d.25 100.00\n" % seconds

    def cpu(self, pid, seconds):
        next(p for p in self.host.processes if p["pid"] == pid)["cpu_seconds"] = seconds


def policies(*texts, host=""):
    return "version: 1\n%s\npolicies:\n%s" % (host, "".join("  - %s\n" % text for text in texts))


TIDB = 'name: tidb\n    match: {exe: tidb-server}\n    memory: bind\n    place: {count: 1, share: %s%s}'
TIKV = 'name: tikv\n    match: {exe: tikv-server, user: "997"}\n    memory: bind\n    place: {count: 1, near: storage%s}'
EXCLUSIVE, SHARED = TIDB % ("exclusive", ""), TIDB % ("shared", "")


def memory_far_from_the_emptiest_node(s):
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 50, 4, 4, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={7: 30 * GIB})


def shared_memory_counts(s):
    s.policy = policies(EXCLUSIVE)
    s.free(10, 10, 10, 10, 10, 30, 10, 10)
    s.service(100, "tidb-server", "tidb-4000", anon={2: GIB}, shmem={2: 19 * GIB})


def page_cache_does_not_count(s):
    s.policy = policies(EXCLUSIVE)
    s.free(10, 10, 10, 10, 10, 30, 10, 10)
    s.service(100, "tidb-server", "tidb-4000", anon={2: GIB}, file={2: 19 * GIB})


def clean_page_cache_gives_way(s):
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 4, 4, 4, 4)
    s.node(6, Inactive_file=20 * GIB)
    s.service(100, "tidb-server", "tidb-4000", anon={1: 4 * GIB, 2: 4 * GIB, 3: 4 * GIB})


def dirty_page_cache_stays(s):
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 4, 4, 4, 4)
    s.node(2, Inactive_file=30 * GIB, Dirty=20 * GIB, Writeback=9 * GIB)
    s.node(6, Inactive_file=20 * GIB)
    s.service(100, "tidb-server", "tidb-4000", anon={1: 6 * GIB, 3: 5 * GIB, 4: 5 * GIB})


def headroom_of_a_node(s):
    """Node 0 has 10.5 GiB, of which 1.3 GiB are its headroom."""
    s.policy = policies(EXCLUSIVE)
    s.free(0, 1, 1, 1, 1, 12, 1, 1)
    s.node(0, MemFree=10 * GIB + GIB // 2)
    s.service(100, "tidb-server", "tidb-4000", anon={1: 4 * GIB, 2: 3 * GIB, 3: 3 * GIB})


def watermarks_above_the_headroom(s):
    """Nodes 0 to 3 may not be filled below 3 x 4 GiB."""
    s.policy = policies(EXCLUSIVE)
    s.files["proc/zoneinfo"] = "".join("Node %d, zone   Normal\n  pages free     1000\n        high     %d\n" % (
        node, (1 << 20) if node < 4 else 1000) for node in range(8))
    s.free(16, 16, 16, 16, 16, 16, 16, 16)
    s.service(100, "tidb-server", "tidb-4000", anon={4: 10 * GIB})


def three_nodes_full(s):
    s.policy = policies(EXCLUSIVE)
    s.free(1, 1, 1, 60, 60, 60, 60, 60)
    for i, node in enumerate((0, 1, 2, 5)):
        s.service(100 + i, "tidb-server", "tidb-%d" % (4000 + i), anon={node: 20 * GIB})


def all_but_one_full(s):
    s.policy = policies(SHARED)
    s.free(1, 1, 1, 1, 1, 1, 50, 1)
    s.service(100, "tidb-server", "tidb-4000", anon={3: 10 * GIB})
    s.service(101, "tidb-server", "tidb-4001", anon={4: 12 * GIB})


def all_full(s):
    s.policy = policies(EXCLUSIVE)
    s.free(0, 0, 0, 0, 0, 0, 0, 0)
    s.service(100, "tidb-server", "tidb-4000", anon={3: 40 * GIB})
    s.service(101, "tidb-server", "tidb-4001", anon={5: 8 * GIB})


def limit_of_the_cgroup(s):
    """It has just begun, and may grow to 30 GiB."""
    s.policy = policies(EXCLUSIVE)
    s.free(20, 20, 20, 20, 50, 20, 20, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={0: GIB}, max=30 * GIB)


def limit_of_the_slice_above(s):
    """What its own limit allows it cannot have: the slice has less. Without that node 6 would be the only one."""
    s.policy = policies(EXCLUSIVE)
    s.free(20, 20, 20, 20, 20, 20, 50, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={0: GIB}, max=40 * GIB)
    s.files["sys/fs/cgroup/system.slice/memory.max"] = "%d\n" % (16 * GIB)


def limit_above_the_machine(s):
    s.policy = policies(EXCLUSIVE)
    s.free(20, 20, 20, 20, 50, 20, 20, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={0: GIB}, max=4096 * GIB)


def limit_without_a_count(s):
    s.policy = policies(EXCLUSIVE)
    s.free(20, 20, 20, 20, 50, 20, 20, 20)
    s.service(100, "tidb-server", "tidb-4000", counted=False, max=30 * GIB)


def memory_unknown(s):
    s.policy = policies(EXCLUSIVE)
    s.free(2, 20, 20, 20, 50, 20, 20, 20)
    s.service(100, "tidb-server", "tidb-4000", counted=False)
    s.service(101, "tidb-server", "tidb-4001", anon={1: 30 * GIB})


def stranger_in_the_unit(s):
    """What lies in the unit is not the instance's alone."""
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 50, 4, 4, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={7: 30 * GIB})
    s.process(900, "backup", "system.slice/tidb-4000.service", parent=1)


def count_that_lacks_most(s):
    """The process has 30 GiB by its own account; its cgroup has been charged with one."""
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 50, 4, 4, 20)
    s.service(100, "tidb-server", "tidb-4000", anon={7: GIB})
    s.host.processes[-1]["resident"] = 30 * GIB


def near_none_of_two_policies(s):
    s.policy = policies(EXCLUSIVE, TIKV.replace("near: storage", "near: none") % "")
    s.free(4, 30, 30, 4, 60, 60, 4, 4)
    s.service(100, "tidb-server", "tidb-4000", anon={6: 25 * GIB})
    s.service(101, "tikv-server", "tikv-20160", anon={7: 28 * GIB})
    s.service(102, "tikv-server", "tikv-20161", anon={0: 50 * GIB})


def near_storage(s):
    s.policy = policies(TIKV % "")
    for i, disk in enumerate((5, 2, 5)):
        s.service(100 + i, "tikv-server", "tikv-%d" % (20160 + i), anon={7: 4 * GIB})
        s.store(100 + i, disk)


def near_storage_in_a_session(s):
    """Nobody vouches for its unit, but the policy does by its user; the first has no process that shows a disk."""
    s.policy = policies(TIKV % "")
    for i, disk in enumerate((5, 2)):
        s.process(100 + i, "tikv-server", "user.slice/user-997.slice/session-1.scope")
        s.store(100 + i, disk)


def storage_by_a_second_process(s):
    s.policy = policies(TIKV % "")
    s.service(100, "tikv-server", "tikv-20160", anon={7: 4 * GIB})
    s.process(101, "tikv-server", "system.slice/tikv-20160.service", parent=100)
    s.store(101, 6)


def storage_nobody_vouches_for(s):
    s.policy = policies((TIKV % "").replace(', user: "997"', ""))
    s.process(100, "tikv-server", "user.slice/session-1.scope")
    s.store(100, 5)


def explicit_nodes_by_port(s):
    s.policy = policies(EXCLUSIVE + "\n    instances:\n      - match: {port: 4001}\n        nodes: 5\n"
                        "      - match: {port: 4000}\n        nodes: 3")
    for i in range(3):
        s.process(100 + i, "tidb-server", "user.slice/session-1.scope")
        s.listen(100 + i, 10080 + i, 4000 + i)


def one_port_of_two_addresses(s):
    s.policy = policies(EXCLUSIVE)
    for i in range(12):
        s.process(95 + i, "tidb-server", "user.slice/session-1.scope")
        s.listen(95 + i, 4000)


def explicit_and_chosen(s):
    """Who is bound to named nodes takes their room."""
    s.policy = policies(EXCLUSIVE + '\n    instances:\n      - match: {unit: "tidb-4000.service"}\n        nodes: 4')
    s.free(4, 4, 24, 4, 50, 24, 4, 4)
    s.service(100, "tidb-server", "tidb-4000", anon={7: 30 * GIB})
    s.service(101, "tidb-server", "tidb-4001", anon={6: 20 * GIB})


def several_processes_in_a_unit(s):
    s.policy = policies('name: haproxy\n    match: {exe: haproxy}\n    place: {count: 1}')
    s.free(1, 1, 1, 1, 1, 20, 1, 1)
    s.service(100, "haproxy", "haproxy", anon={0: 2 * GIB})
    s.process(101, "haproxy", "system.slice/haproxy.service", parent=100)
    s.process(102, "haproxy", "system.slice/haproxy.service", parent=100)
    s.process(103, "helper", "system.slice/haproxy.service", parent=102)


def haproxy_binds_itself_on_the_reserved_node(s):
    s.policy = policies('name: haproxy\n    match: {exe: haproxy}\n    place: {count: 1}',
                        host="host: {reserve: {nodes: nic}}")
    s.process(100, "haproxy", "user.slice/session-1.scope", cpus=node_cpus(0))


def groups_of_its_own(s):
    """The processes are in groups below the unit's; the unit's counts and its limits are those that matter."""
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 50, 4, 4, 20)
    s.process(100, "tidb-server", "system.slice/tidb-4000.service/init")
    s.unit("system.slice/tidb-4000.service", cpus=node_cpus(7), mems="7", anon={7: 30 * GIB})
    s.unit("system.slice/tidb-4000.service/init", cpus=None, anon={7: GIB})
    s.unit("system.slice")


def reserved_nodes(s):
    s.policy = policies(EXCLUSIVE, host='host: {reserve: {nodes: "0-1,4"}}')
    for i in range(6):
        s.service(100 + i, "tidb-server", "tidb-%d" % (4000 + i), anon={i: 10 * GIB})


def already_bound(s):
    s.policy = policies(EXCLUSIVE)
    s.service(100, "tidb-server", "tidb-4000", cpus=node_cpus(6), mems="6", anon={6: 10 * GIB})
    s.service(101, "tidb-server", "tidb-4001", anon={6: 10 * GIB})


def bound_by_its_threads_without_a_cpuset(s):
    s.policy = policies(EXCLUSIVE)
    s.process(100, "tidb-server", "user.slice/session-1.scope", cpus=node_cpus(6))
    s.process(101, "tidb-server", "user.slice/session-1.scope", cpus=node_cpus(6) + ",3")
    s.service(102, "tidb-server", "tidb-4002", cpus=None, threads=node_cpus(5), anon={5: GIB})


def threads_narrower_than_the_unit(s):
    """CPUAffinity= of the manager, or a cpu-map: the unit is not bound."""
    s.policy = policies(EXCLUSIVE)
    for i in range(3):
        s.service(100 + i, "tidb-server", "tidb-%d" % (4000 + i), threads=node_cpus(3), anon={3: GIB})


def bound_to_a_reserved_node(s):
    s.policy = policies(EXCLUSIVE, host="host: {reserve: {nodes: nic}}")
    s.service(100, "tidb-server", "tidb-4000", cpus=node_cpus(0), mems="0", anon={0: 10 * GIB})


def slice_allows_less(s):
    s.policy = policies(EXCLUSIVE)
    cpus = ",".join(map(node_cpus, (4, 5)))
    s.unit("db.slice", cpus=cpus, mems="4-5")
    for i in range(2):
        s.process(100 + i, "tidb-server", "db.slice/tidb-%d.service" % (4000 + i), cpus)
        s.unit("db.slice/tidb-%d.service" % (4000 + i), cpus=cpus, mems="4-5", anon={0: GIB})


def slice_allows_one_node(s):
    s.policy = policies(EXCLUSIVE)
    s.unit("db.slice", cpus=node_cpus(5), mems="5")
    s.process(100, "tidb-server", "db.slice/session-2.scope", node_cpus(5))
    s.unit("db.slice/session-2.scope", cpus=node_cpus(5), mems="5")
    s.process(101, "tidb-server", "db.slice/db-fast.slice/tidb-4001.service", node_cpus(5))
    s.unit("db.slice/db-fast.slice/tidb-4001.service", cpus=node_cpus(5), mems="5", anon={0: GIB})


def wide_instances_within_a_socket(s):
    s.policy = policies(EXCLUSIVE.replace("count: 1", "count: 2"), TIKV % "")
    s.free(2, 2, 30, 30, 30, 2, 2, 2)
    for i in range(3):
        s.service(100 + i, "tidb-server", "tidb-%d" % (4000 + i), anon={7: 20 * GIB})
    s.service(110, "tikv-server", "tikv-20160", anon={4: 20 * GIB})
    s.store(110, 4)


def cpu_time_where_it_runs(s):
    """Three on two nodes. The first has used 30 CPUs: it gets a node to itself, and the other two share one."""
    s.policy = policies(TIDB % ("shared", ", nodes: 0-1"))
    s.uptime(1011)
    for i in range(3):
        s.service(100 + i, "tidb-server", "tidb-%d" % (4000 + i), anon={7: GIB})
    s.cpu(100, 30000)


def cpu_time_of_the_first_minute(s):
    """As above, but it has run for half a minute only: that says nothing yet."""
    cpu_time_where_it_runs(s)
    s.uptime(41)
    s.cpu(100, 900)


def weight_of_the_policy(s):
    """By product TiDB would be alone; here PD weighs the most."""
    place = "\n    place: {share: shared, nodes: 0-1, count: 1}\n    weight: "
    s.policy = policies("name: tidb\n    match: {exe: tidb-server}%s1" % place, "name: pd\n    match: {exe: pd-server}%s9" % place,
                        "name: haproxy\n    match: {exe: haproxy}%sauto" % place)
    for i, exe in enumerate(("tidb-server", "pd-server", "haproxy")):
        s.service(100 + i, exe, exe.partition("-")[0], anon={7: GIB})


def version_1_groups(s):
    """cgroup v1: the memory hierarchy counts, the cpuset one allows everything."""
    s.policy = policies(EXCLUSIVE)
    s.free(4, 4, 4, 4, 50, 4, 4, 20)
    s.process(100, "tidb-server", "system.slice/tidb-4000.service")
    path = "sys/fs/cgroup/memory/system.slice/tidb-4000.service/"
    pages = 30 * GIB // os.sysconf("SC_PAGESIZE")
    s.files[path + "cgroup.procs"] = "100\n"
    s.files[path + "memory.limit_in_bytes"] = "9223372036854771712\n"
    s.files[path + "memory.numa_stat"] = "".join(
        "%s=%d%s\n" % (kind, n, "".join(" N%d=%d" % (node, n if node == 7 else 0) for node in range(8)))
        for kind, n in (("total", pages), ("anon", pages), ("file", 0), ("hierarchical_total", pages),
                        ("hierarchical_anon", pages), ("hierarchical_file", 0)))
    s.host.version = 1
    s.files["proc/self/mountinfo"] = "".join(
        "%d 21 0:%d / /sys/fs/cgroup/%s rw - cgroup cgroup rw,%s\n" % (40 + i, 40 + i, name, name)
        for i, name in enumerate(("memory", "cpuset")))


SITUATIONS = [
    memory_far_from_the_emptiest_node, shared_memory_counts, page_cache_does_not_count, clean_page_cache_gives_way,
    dirty_page_cache_stays, headroom_of_a_node, watermarks_above_the_headroom, three_nodes_full, all_but_one_full, all_full,
    limit_of_the_cgroup, limit_of_the_slice_above, limit_above_the_machine, limit_without_a_count, memory_unknown,
    stranger_in_the_unit, count_that_lacks_most, near_none_of_two_policies, near_storage, near_storage_in_a_session,
    storage_by_a_second_process, storage_nobody_vouches_for, explicit_nodes_by_port, one_port_of_two_addresses,
    explicit_and_chosen, several_processes_in_a_unit, haproxy_binds_itself_on_the_reserved_node, groups_of_its_own,
    reserved_nodes, already_bound, bound_by_its_threads_without_a_cpuset, threads_narrower_than_the_unit,
    bound_to_a_reserved_node, slice_allows_less, slice_allows_one_node, wide_instances_within_a_socket,
    cpu_time_where_it_runs, cpu_time_of_the_first_minute, weight_of_the_policy, version_1_groups]
