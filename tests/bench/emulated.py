"""Figures that need several nodes: the scenarios stalls and trial of the vm suite leave them among their artifacts."""
import glob
import json
import os
import statistics
import time

from contenders import Unavailable

HOW = "./dev test --long vm takes it on the emulated host (scenario %s)"


def newest(build_root, scenario, name):
    """(path, day)"""
    found = sorted(glob.glob(os.path.join(build_root, "vm/**", scenario, "**", name), recursive=True), key=os.path.getmtime)
    if not found:
        raise Unavailable(HOW % scenario)
    return found[-1], time.strftime("%Y-%m-%d", time.gmtime(os.path.getmtime(found[-1])))


def stalls(build_root):
    """[(what, unit, ours, beside, peer, aim)]; a line of `figures`: round, what moved it, sum in ms, longest in ms, number."""
    path, day = newest(build_root, "stalls", "figures")
    sums = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            _, mode, total, longest = line.split()[:4]
            sums.setdefault(mode, []).append((float(total), float(longest)))
    if not {"tidbnumad", "migratepages"} <= sums.keys():
        raise Unavailable("%s is incomplete; %s" % (path, HOW % "stalls"))
    for i, (what, aim) in enumerate((("sum of the stalls over 5 ms", "a quarter"), ("longest stall", ""))):
        ours, beside = (statistics.median(figures[i] for figures in sums[mode]) for mode in ("tidbnumad", "migratepages"))
        if beside:
            yield "%s while 150 MiB are moved, emulated host, %s" % (what, day), "ms", ours, beside, "migratepages", aim


def trial(build_root):
    """The same, and that nothing is below the peer, from `tidbnumactl trial --json`: of the server that walks its memory. The
    emulator makes no memory slower, so that "no difference shown" is the right verdict, and the ratio is near 1."""
    path, day = newest(build_root, "trial", "walk.json")
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    walker = next(one for one in found["instances"] if one["name"] == "tikv-20161")
    if not walker["judged"]:
        raise Unavailable("%s: %s is not judged: %s" % (path, walker["name"], walker["reason"]))
    for key, what in ("cpu_seconds_per_query", "CPU"), ("p99_seconds", "p99"):
        one = walker[key]
        if one["low"] is not None:
            verdict = "%+.0f to %+.0f %%, %s" % (one["low"] * 100, one["high"] * 100, "shown" if one["shown"] else "no difference shown")
            yield ("%s of a walk through 16 MiB, bound, all memory equally far, emulated host, %s: %s" % (what, day, verdict),
                   "ms", one["with"] * 1e3, one["without"] * 1e3, "not bound, by tidbnumactl trial", "", True)
