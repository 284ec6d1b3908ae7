"""The report of tests/bench/run: a page, JSON and a picture of the same figures.

Of every figure less is better. `ratio` is ours divided by the peer's. Rows in which we are not ahead come first.
"""
import datetime
import glob
import json
import os
import re
import statistics
import subprocess

from picture import draw, figure

BEHIND, BOUND, ALONE, AHEAD = range(4)
GROUPS = {
    BEHIND: "Not ahead of the peer",
    BOUND: "Beside what cannot be undercut",
    ALONE: "Without a peer",
    AHEAD: "Ahead of the peer",
}
# Why a figure is behind that of a peer, by the begin of what it is of and of the peer's name.
WHY_BEHIND = (
    ("start to ready", "numactl", "it reads topology, policies and all processes, and is ready when they are watched; numactl reads the nodes"),
    ("one pass of the mover", "numa_maps", "it learns of each page where it is, and would move it; numa_maps is a sum that the kernel makes, "
                                           "all the while holding the memory map of the process"),
    ("CPU at rest, affinity", "", "each minute it reads the mask of every thread, the only witness of drift there; the peers only see starts"),
    ("CPU at rest", "", "it reads the host's list of processes each 40 s, for what no event reported; the peers only see starts"),
    ("CPU of a plan", "hwloc-distrib", "it weighs devices, memory, distances and the instances' policies; hwloc-distrib only spreads"),
    ("start in a storm", "TuneD", "TuneD hears of an exec from perf, before the kernel has loaded the program; the process connector reports "
                                  "it afterwards"),
    ("CPU", "cgrulesengd", "in a storm it looks before each link that it reads whether the process is in another exec, which may hold the "
                           "reader for ever; cgrulesengd would wait"),
    ("resident", "cgrulesengd", "most of it are libraries: hwloc, systemd, YAML and JSON"),
)


def why_behind(what, peer):
    return next((why for of, name, why in WHY_BEHIND if what.startswith(of) and peer.startswith(name)), None)


class Row:
    def __init__(self, what, unit, peer, aim, bound):
        self.what, self.unit, self.peer, self.aim, self.bound = what, unit, peer, aim, bound
        self.ours, self.beside = [], []

    def ratio(self):
        if not self.beside or not statistics.median(self.beside):
            return None
        return statistics.median(self.ours) / statistics.median(self.beside)

    def group(self):
        ratio = self.ratio()
        if ratio is None:
            return ALONE
        return BOUND if self.bound else BEHIND if ratio >= 1 else AHEAD

    def cells(self):
        ratio = self.ratio()
        peer = "" if ratio is None else "%s, %s" % (spread(self.beside, self.unit), self.peer)
        return self.what, spread(self.ours, self.unit), peer, "" if ratio is None else figure(ratio, 2), self.aim

    def as_json(self):
        ratio = self.ratio()
        return {"what": self.what, "unit": self.unit, "now": summary(self.ours), "aim": self.aim or None,
                "peer": None if ratio is None else {"name": self.peer, **summary(self.beside)},
                "ratio": None if ratio is None else round(ratio, 4), "group": GROUPS[self.group()]}


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values)}


def spread(values, unit):
    """'5.2 ms', or '5.2 (4.9-7) ms' where the rounds differ."""
    low, high = figure(min(values)), figure(max(values))
    return "%s%s %s" % (figure(statistics.median(values)), "" if low == high else " (%s-%s)" % (low, high), unit)


# --- the machine --------------------------------------------------------------------------------------------------------

def cpu_times():
    """(all, idle) ticks of all CPUs since boot."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(word) for word in f.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def busy_percent(before, after):
    passed = after[0] - before[0]
    return 100 * (1 - (after[1] - before[1]) / passed) if passed else 0.0


def first(pattern, path, otherwise="unknown"):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            found = re.search(pattern, f.read())
    except OSError:
        found = None
    return found[1].strip() if found else otherwise


def machine():
    memory = int(first(r"MemTotal:\s*(\d+)", "/proc/meminfo", "0")) / (1 << 20)
    nodes = len(glob.glob("/sys/devices/system/node/node[0-9]*"))
    return {"cpu": first(r"model name\s*:\s*(.*)", "/proc/cpuinfo"), "cpus": os.cpu_count(), "nodes": nodes,
            "memory_gib": round(memory, 1), "kernel": os.uname().release,
            "system": first(r'PRETTY_NAME="(.*)"', "/etc/os-release")}


def said(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True,
                              timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def versions(program, root, unpacked):
    """Ours with its commit; the peers' as their packages name them."""
    ours = said([program, "--version"]).split("\n", maxsplit=1)[0]
    commit = said(["git", "-c", "safe.directory=*", "-C", root, "describe", "--always", "--dirty"]).strip()
    found = {"tidbnumad": "%s%s" % (ours.replace("tidbnumad ", ""), ", commit " + commit if commit else "")}
    for package in "tuned", "cgroup-tools", "numad", "prometheus-node-exporter", "numactl":
        path = os.path.join(unpacked or "/nonexistent", "versions")
        version = first(r"(?m)^%s (.*)$" % re.escape(package), path, "")
        version = version or said(["dpkg-query", "-W", "-f", "${Version}", package])
        if version:
            found[package] = version
    return found


# --- the three forms ----------------------------------------------------------------------------------------------------

class Report:
    """`storms` is a table with its head, or empty; `left_out` has a reason for each figure that this host cannot give."""

    def __init__(self, rows, left_out, about, storms, storm_words):
        self.rows = sorted(rows, key=lambda row: (row.group(), -(row.ratio() or 0)))
        self.left_out, self.about, self.storms, self.storm_words = left_out, about, storms, storm_words

    def head(self):
        a, host = self.about, self.about["machine"]
        return ("Taken on %s by `./dev bench` on a machine with %s x %s, %s node%s and %s GiB, %s, Linux %s. Versions: %s.\n\n"
                "Medians of %d rounds, lowest and highest in parentheses. Ratio: tidbnumad's figure divided by the peer's; less is\n"
                "better in every row. Before each row the machine was watched for a second: other programs used %.0f %% of its CPUs in\n"
                "the median and %.0f %% at most%s.\n" % (
                    a["date"], host["cpus"], host["cpu"], host["nodes"], "" if host["nodes"] == 1 else "s", host["memory_gib"],
                    host["system"], host["kernel"], "; ".join("%s %s" % pair for pair in a["versions"].items()), a["rounds"],
                    a["others_percent"]["median"], a["others_percent"]["max"],
                    "" if a["quiet"] else ": **it was busy, so no figure here is good for more than its ratio**"))

    def page(self):
        lines = [self.head(), "| what | now | peer | ratio | aim |", "| --- | --- | --- | --- | --- |"]
        for group, title in GROUPS.items():
            found = [row for row in self.rows if row.group() == group]
            if found:
                lines.append("| **%s** | | | | |" % title)
                lines += ["| %s |" % " | ".join(row.cells()) for row in found]
        behind = {why_behind(row.what, row.peer) for row in self.rows if row.group() == BEHIND} - {None}
        if behind:
            lines += ["", "Why not:", ""] + ["- %s: %s." % (of, why) for of, _, why in WHY_BEHIND if why in behind]
        if len(self.storms) > 1:
            lines += ["", self.storm_words, "", "| %s |" % " | ".join(self.storms[0]), "|" + " --- |" * len(self.storms[0])]
            lines += ["| %s |" % " | ".join(cells) for cells in self.storms[1:]]
        if self.left_out:
            lines += ["", "Left out:", ""] + ["- %s: %s" % pair for pair in sorted(self.left_out.items())]
        return "\n".join(lines) + "\n"

    def json(self):
        return json.dumps({**self.about, "rows": [row.as_json() for row in self.rows], "left_out": self.left_out,
                           "storms": [dict(zip(self.storms[0], row)) for row in self.storms[1:]]}, indent=1) + "\n"

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        shown = [(row.what, row.peer, row.ratio(), row.group() == BOUND) for row in self.rows if row.ratio()]
        for name, content in (("report.md", self.page()), ("report.json", self.json()),
                              ("ratios.svg", draw(shown, self.about["date"]))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(content)


def about(program, root, unpacked, rounds, others):
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "machine": machine(),
            "versions": versions(program, root, unpacked), "rounds": rounds,
            "others_percent": {"median": round(statistics.median(others), 1), "max": round(max(others), 1)},
            "quiet": statistics.median(others) < 10 and max(others) < 50}


def plain(page):
    """The page for a terminal: its tables in columns."""
    out, table = [], []
    for line in page.splitlines() + [""]:
        if line.startswith("|"):
            if not re.fullmatch(r"[|\- ]+", line):
                table.append([cell.strip().replace("**", "") for cell in line.strip("|").split("|")])
            continue
        if table:
            widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
            out += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
            table = []
        out.append(line.replace("**", "").replace("`", ""))
    return "\n".join(out).rstrip("\n") + "\n"
