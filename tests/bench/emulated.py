"""Figures that need several nodes: the scenario stalls of the vm suite leaves them among its artifacts."""
import glob
import os
import statistics
import time

from contenders import Unavailable

HOW = "./dev test --long vm takes it on the emulated host (scenario stalls)"


def stalls(build_root):
    """[(what, unit, ours, beside, peer, aim)]; a line of `figures`: round, what moved it, sum in ms, longest in ms, number."""
    found = sorted(glob.glob(os.path.join(build_root, "vm/**/stalls/**/figures"), recursive=True), key=os.path.getmtime)
    if not found:
        raise Unavailable(HOW)
    sums = {}
    with open(found[-1], encoding="ascii") as f:
        for line in f:
            _, mode, total, longest = line.split()[:4]
            sums.setdefault(mode, []).append((float(total), float(longest)))
    day = time.strftime("%Y-%m-%d", time.gmtime(os.path.getmtime(found[-1])))
    if not {"tidbnumad", "migratepages"} <= sums.keys():
        raise Unavailable("%s is incomplete; %s" % (found[-1], HOW))
    for i, (what, aim) in enumerate((("sum of the stalls over 5 ms", "a quarter"), ("longest stall", ""))):
        ours, beside = (statistics.median(figures[i] for figures in sums[mode]) for mode in ("tidbnumad", "migratepages"))
        if beside:
            yield "%s while 150 MiB are moved, emulated host, %s" % (what, day), "ms", ours, beside, "migratepages", aim
