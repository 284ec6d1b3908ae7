"""Where one process's memory lies, by each method and by numastat -p; and how long that holds the process up."""
import contextlib
import os
import re
import statistics
import subprocess
import time

from contenders import Unavailable

SIZES = 512 << 20, 2 << 30, 8 << 30
STALLED_BYTES, WINDOWS, WINDOW_SECONDS = 2 << 30, 7, 1.0


def memory_hierarchy():
    """Where a control group can be made whose memory is counted by node."""
    if os.geteuid() != 0:
        raise Unavailable("a control group of its own needs root")
    for root, listed in ("/sys/fs/cgroup", "cgroup.subtree_control"), ("/sys/fs/cgroup/memory", None):
        if not os.path.exists(os.path.join(root, listed or "memory.numa_stat")):
            continue
        if listed:
            with open(os.path.join(root, listed), encoding="ascii") as f:
                if "memory" not in f.read().split():
                    continue
        return root
    raise Unavailable("no control groups here that count memory by node")


class Target:
    """A process that holds so much, in a control group of its own where it can have one."""

    def __init__(self, tool, size, folder=None):
        with open("/proc/meminfo", encoding="ascii") as f:
            if int(re.search(r"MemAvailable:\s*(\d+)", f.read())[1]) * 1024 < size + (1 << 30):
                raise Unavailable("no %.1f GiB of memory available" % (size / (1 << 30)))
        self.folder = folder
        if folder:
            os.mkdir(folder)
        try:
            self.process = subprocess.Popen([tool, str(size)] + ([os.path.join(folder, "cgroup.procs")] if folder else []),
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        except OSError:
            self.leave()
            raise
        self.pid = self.process.pid

    def __enter__(self):
        if self.process.stdout.readline() != "ready\n":
            self.__exit__()
            raise Unavailable("a process that holds memory could not be started")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.leave()

    def leave(self):
        if self.folder:
            os.rmdir(self.folder)

    def longest_stall(self, meanwhile):
        """Milliseconds, the longest of its faults while that is done over and over."""
        self.process.stdin.write("\n")
        end = time.monotonic() + WINDOW_SECONDS
        while time.monotonic() < end:
            meanwhile()
        self.process.stdin.write("\n")
        return int(self.process.stdout.readline()) / 1e3


def milliseconds(function):
    begin = time.monotonic()
    function()
    return (time.monotonic() - begin) * 1e3


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def sample(sampler, *what):
    """Milliseconds, the mean of many."""
    return float(run(sampler, *what))


def samples(target, sampler, name):
    """(bytes, counted, drawn, numastat -p) in milliseconds; counted is None without such control groups."""
    try:
        root, left_out = memory_hierarchy(), None
    except Unavailable as why:
        root, left_out = None, str(why)
    shown = []
    for size in SIZES:
        folder = root and os.path.join(root, name)
        with Target(target, size, folder) as t:
            counted = folder and sample(sampler, folder)
            drawn = sample(sampler, "--pid", str(t.pid))
            numastat = statistics.median(milliseconds(lambda pid=t.pid: run("numastat", "-p", str(pid))) for _ in range(3))
        shown.append((size, counted, drawn, numastat))
    return shown, left_out


def stalls(target, sampler):
    """(left alone, sampled, numastat -p): medians over the windows, which take turns.

    The process has a CPU to itself: what it waits for is the kernel's lock, and not the programs that are started beside it."""
    seen = [], [], []
    cpus = sorted(os.sched_getaffinity(0))
    with Target(target, STALLED_BYTES) as t, contextlib.ExitStack() as stack:
        if len(cpus) > 1:
            os.sched_setaffinity(t.pid, cpus[-1:])
            os.sched_setaffinity(0, cpus[:-1])
            stack.callback(os.sched_setaffinity, 0, cpus)
        ways = (lambda: time.sleep(0.05), lambda: sample(sampler, "--pid", str(t.pid), "10"),
                lambda: run("numastat", "-p", str(t.pid)))
        for _ in range(WINDOWS):
            for way, into in zip(ways, seen):
                into.append(t.longest_stall(way))
    return tuple(statistics.median(s) for s in seen)
