"""Machines of the field that nobody sent a dump of, made from a few numbers: /proc and /sys as the kernel shows them.

A machine.json says:

    packages, nodes_per_package, cores_per_node, threads    its shape; nodes and CPUs are numbered as the kernel does it on
                                                            most servers: cores first, their second threads behind all cores
    memory_gib        of a node, or a list of one number each
    distances         [local, within a package, across], or "rows": a full matrix
    cards             name to {"node", "speed", "driver", "default_route", "queues", "elsewhere"}: with `queues` it has an
                      interrupt for each and one more; `elsewhere` it is in another network namespace
    disks             name of an NVMe namespace to its node
    mounts            a directory to the disk that is mounted there, as the first process sees it
    disk_queues       I/O queues of each disk, with an interrupt each
    offline, isolated CPU lists
"""
import json
import os

GIB = 1 << 20  # in kB, as meminfo counts


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def link(path, target):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


def mask(cpus, width):
    """0000ff00,000000ff: groups of 32 bits, as bitmap_print does it."""
    number = sum(1 << cpu for cpu in cpus)
    groups = max(1, (width + 31) // 32)
    return ",".join("%08x" % (number >> (32 * i) & 0xffffffff) for i in reversed(range(groups))) + "\n"


def ranges(numbers):
    numbers, parts = sorted(numbers), []
    while numbers:
        end = 0
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts.append(str(numbers[0]) if end == 0 else "%d-%d" % (numbers[0], numbers[end]))
        numbers = numbers[end + 1:]
    return ",".join(parts) + "\n"


def parse_ranges(text):
    numbers = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


class Machine:
    def __init__(self, path):
        with open(path, encoding="ascii") as f:
            self.spec = json.load(f)
        self.n_nodes = self.spec["packages"] * self.spec["nodes_per_package"]
        self.n_cores = self.n_nodes * self.spec["cores_per_node"]
        self.cpus = set(range(self.n_cores * self.spec["threads"]))
        self.online = self.cpus - parse_ranges(self.spec.get("offline", ""))

    def core_of(self, cpu):
        return cpu % self.n_cores

    def node_of(self, cpu):
        return self.core_of(cpu) // self.spec["cores_per_node"]

    def package_of(self, node):
        return node // self.spec["nodes_per_package"]

    def select(self, function, value):
        return {cpu for cpu in self.online if function(cpu) == value}

    def distance(self, a, b):
        if "rows" in self.spec:
            return self.spec["rows"][a][b]
        local, near, far = self.spec["distances"]
        return local if a == b else near if self.package_of(a) == self.package_of(b) else far

    def memory_kb(self, node):
        memory = self.spec["memory_gib"]
        return (memory[node] if isinstance(memory, list) else memory) * GIB

    def build(self, root):
        self.build_cpus(root)
        self.build_nodes(root)
        self.build_devices(root)
        return root

    def build_cpus(self, root):
        base = os.path.join(root, "sys/devices/system/cpu")
        lists = {"possible": self.cpus, "present": self.cpus, "online": self.online, "offline": self.cpus - self.online,
                 "isolated": parse_ranges(self.spec.get("isolated", "")), "nohz_full": set()}
        for name, cpus in lists.items():
            write(os.path.join(base, name), ranges(cpus))
        for cpu in self.cpus:
            folder = os.path.join(base, "cpu%d" % cpu)
            write(os.path.join(folder, "online"), "%d\n" % (cpu in self.online))
            if cpu not in self.online:
                continue
            core, package = self.core_of(cpu), self.package_of(self.node_of(cpu))
            siblings = self.select(self.core_of, core)
            others = {c for c in self.online if self.package_of(self.node_of(c)) == package}
            for name, text in (("physical_package_id", "%d\n" % package), ("core_id", "%d\n" % core)):
                write(os.path.join(folder, "topology", name), text)
            for name, cpus in (("thread_siblings", siblings), ("core_cpus", siblings),
                               ("core_siblings", others), ("package_cpus", others)):
                write(os.path.join(folder, "topology", name), mask(cpus, len(self.cpus)))
                write(os.path.join(folder, "topology", name + "_list"), ranges(cpus))
        write(os.path.join(root, "proc/cpuinfo"), "".join("processor\t: %d\n\n" % cpu for cpu in sorted(self.online)))

    def build_nodes(self, root):
        base = os.path.join(root, "sys/devices/system/node")
        nodes = set(range(self.n_nodes))
        with_memory = {node for node in nodes if self.memory_kb(node)}
        for name, members in (("online", nodes), ("possible", nodes), ("has_cpu", nodes), ("has_memory", with_memory),
                              ("has_normal_memory", with_memory)):
            write(os.path.join(base, name), ranges(members))
        for node in nodes:
            folder = os.path.join(base, "node%d" % node)
            cpus = self.select(self.node_of, node)
            write(os.path.join(folder, "cpumap"), mask(cpus, len(self.cpus)))
            write(os.path.join(folder, "cpulist"), ranges(cpus))
            write(os.path.join(folder, "distance"), " ".join(str(self.distance(node, other)) for other in range(self.n_nodes)) + "\n")
            total = self.memory_kb(node)
            write(os.path.join(folder, "meminfo"), "".join("Node %d %s: %8d kB\n" % (node, name, value) for name, value in (
                ("MemTotal", total), ("MemFree", total - total // 16), ("MemUsed", total // 16), ("Active", total // 64),
                ("Inactive", 0), ("Inactive(file)", 0), ("Dirty", 0), ("Writeback", 0), ("FilePages", 0), ("AnonPages", 0))))
        write(os.path.join(root, "proc/meminfo"), "MemTotal: %d kB\n" % sum(map(self.memory_kb, nodes)))

    def pci(self, root, number, node, driver):
        address = "0000:%02x:00.0" % number
        folder = os.path.join(root, "sys/devices/pci0000:00", address)
        write(os.path.join(folder, "numa_node"), "%d\n" % node)
        write(os.path.join(root, "sys/bus/pci/drivers", driver, "module"), "")
        link(os.path.join(folder, "driver"), "../../../bus/pci/drivers/" + driver)
        link(os.path.join(folder, "subsystem"), "../../../bus/pci")
        return address, folder

    def vectors(self, root, address, node, names):
        """Interrupts of a PCI device, spread over its node as drivers do it."""
        local = sorted(self.select(self.node_of, node))
        link(os.path.join(root, "sys/bus/pci/devices", address), "../../../devices/pci0000:00/" + address)
        for i, name in enumerate(names):
            irq, cpu = self.next_irq, local[i % len(local)]
            self.next_irq += 1
            write(os.path.join(root, "sys/devices/pci0000:00", address, "msi_irqs", str(irq)), "msix\n")
            write(os.path.join(root, "proc/irq/%d/smp_affinity_list" % irq), ranges([cpu]))
            write(os.path.join(root, "proc/irq/%d/effective_affinity_list" % irq), ranges([cpu]))
            self.table += "%4d: %s  IR-PCI-MSIX-%s %4d-%-8s  %s\n" % (
                irq, "".join("%10d " % (other == cpu) for other in sorted(self.online)), address, i, "edge", name)

    def queues(self, root, path, n):
        for q in range(n):
            write(os.path.join(root, path, "queues/rx-%d/rps_cpus" % q), mask([], len(self.cpus)))
            write(os.path.join(root, path, "queues/tx-%d/xps_cpus" % q), mask([], len(self.cpus)))

    def build_devices(self, root):
        self.next_irq, self.table = 100, "      " + "".join("CPU%-8d" % cpu for cpu in sorted(self.online)) + "\n"
        routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        os.makedirs(os.path.join(root, "sys/block"), exist_ok=True)
        os.makedirs(os.path.join(root, "sys/class/net"), exist_ok=True)
        for i, (name, card) in enumerate(self.spec.get("cards", {}).items()):
            address, folder = self.pci(root, 0x10 + i, card["node"], card.get("driver", "mlx5_core"))
            write(os.path.join(folder, "class"), "0x020000\n")
            if "queues" in card:
                self.vectors(root, address, card["node"], ["mlx5_async0@pci:" + address] + [
                    "mlx5_comp%d@pci:%s" % (q, address) for q in range(card["queues"])])
            if card.get("elsewhere"):
                continue
            self.queues(root, os.path.join(folder, "net", name), card.get("queues", 0))
            write(os.path.join(folder, "net", name, "speed"), "%d\n" % card["speed"])
            write(os.path.join(folder, "net", name, "type"), "1\n")
            link(os.path.join(folder, "net", name, "device"), "../../../" + address)
            link(os.path.join(root, "sys/class/net", name), "../../devices/pci0000:00/%s/net/%s" % (address, name))
            if card.get("default_route"):
                routes += "%s\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" % name
        for i, (name, node) in enumerate(self.spec.get("disks", {}).items()):
            address, folder = self.pci(root, 0x40 + i, node, "nvme")
            controller = name[:name.index("n", 2)]
            if "disk_queues" in self.spec:
                self.vectors(root, address, node, ["%sq%d" % (controller, q) for q in range(self.spec["disk_queues"] + 1)])
                link(os.path.join(root, "sys/class/nvme", controller), "../../devices/pci0000:00/%s/nvme/%s" % (address, controller))
            # The class device reports what the driver set, which is nothing on some kernels.
            write(os.path.join(folder, "nvme", controller, "numa_node"), "0\n")
            link(os.path.join(folder, "nvme", controller, "subsystem"), "../../../../../class/nvme")
            write(os.path.join(folder, "nvme", controller, name, "dev"), "259:%d\n" % i)
            link(os.path.join(folder, "nvme", controller, "device"), "../../../" + address)
            link(os.path.join(folder, "nvme", controller, name, "device"), "../../" + controller)
            path = "devices/pci0000:00/%s/nvme/%s/%s" % (address, controller, name)
            link(os.path.join(root, "sys/block", name), "../" + path)
            link(os.path.join(root, "sys/class/block", name), "../../" + path)
            link(os.path.join(root, "sys/dev/block/259:%d" % i), "../../" + path)
        if "mounts" in self.spec:
            disks = list(self.spec["disks"])
            write(os.path.join(root, "proc/1/mountinfo"), "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + "".join(
                "%d 21 259:%d / %s rw - ext4 /dev/%s rw\n" % (30 + i, disks.index(disk), point, disk)
                for i, (point, disk) in enumerate(self.spec["mounts"].items())))
        write(os.path.join(root, "proc/net/route"), routes)
        if self.next_irq > 100:
            write(os.path.join(root, "proc/interrupts"), self.table)
            write(os.path.join(root, "proc/irq/default_smp_affinity"), mask(self.online, len(self.cpus)))
