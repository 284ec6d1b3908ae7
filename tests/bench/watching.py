"""The figures of watching: a storm of processes, and the quiet after it, for us and for what a user would have otherwise."""
import contextlib
import os
import statistics
import subprocess
import time

from contenders import Ours, Unavailable, contenders, daemon
from bound import Storm, bound_cpu, is_bound, one_cpu_only, quantile

STARTS = 200
SECONDS, PER_SECOND, MATCHING, ROUNDS = 3, 1000, 20, 3
TOGETHER, THREADS = 10, 4
INSTANCES, INSTANCE_THREADS, PROCESSES, WATCHED_SECONDS = 20, 500, 2000, 60
# Two rounds of the daemon's slow scan: only the first reads processes that are new to it.
SETTLE_SECONDS = 65


class Storms:
    """What the storms showed of one contender."""

    def __init__(self, contender):
        self.contender = contender
        self.usec_each, self.percent, self.bound_usec, self.bound_median_ms, self.resident = [], [], [], [], []
        self.main_median_ms = []
        self.missed = self.wholly = 0

    def blow(self, starter, exe, other):
        with self.contender as running:
            used = running.cpu_seconds()
            with Storm(starter, exe, other, SECONDS, PER_SECOND, MATCHING) as storm:
                used = running.cpu_seconds() - used
                self.missed += sum(not is_bound(pid) for pid in storm.usec)
                bound = [usec for usec in storm.usec.values() if usec is not None]
                self.bound_usec += bound
                self.bound_median_ms.append(statistics.median(bound or [float("nan")]) / 1e3)
                self.main_median_ms.append(statistics.median(storm.main_usec or [float("nan")]) / 1e3)
            self.usec_each.append(used / storm.starts * 1e6)
            self.percent.append(used / storm.seconds * 100)
            self.resident.append(running.resident_mib())
            self.wholly += bound_with_threads(exe)

    def row(self):
        bound = self.bound_usec or [float("nan")]
        return (self.contender.name, "%.0f" % statistics.median(self.usec_each), "%.1f" % statistics.median(self.percent),
                "%.2f" % (statistics.median(bound) / 1e3), "%.1f" % (max(bound) / 1e3),
                "%d of %d" % (self.missed, ROUNDS * MATCHING), "%d of %d" % (self.wholly, ROUNDS * TOGETHER),
                "%.1f" % max(self.resident))


STORM_HEAD = ("", "CPU each, us", "% of a core", "bound, median ms", "max ms", "missed", "all threads bound", "resident MiB")
# What stands beside each peer in the report: what, unit, the figure of each round, aim.
BOUND_FIGURE = "start in a storm to first thread bound"
STORM_FIGURES = (("CPU a start in a storm", "us", lambda s: s.usec_each, "20 us"),
                 ("CPU in a storm of %d starts a second" % PER_SECOND, "% of a core", lambda s: s.percent, "2 %"),
                 (BOUND_FIGURE, "ms", lambda s: s.bound_median_ms, "0.2 ms"))


def storm_table(seen):
    return [STORM_HEAD] + [one.row() for one in seen]


def bound_with_threads(exe):
    """Of some that start threads at once, how many are bound with all of them."""
    children = [subprocess.Popen([exe, "bound", str(bound_cpu()), str(THREADS), str(time.monotonic_ns())],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) for _ in range(TOGETHER)]
    told = [child.stdout.readline() for child in children]
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()
    return sum(line.startswith("bound") for line in told)


def available(build, unpacked, exe, folder):
    """(those that can run here, [(name, why not)])"""
    if os.geteuid() != 0:
        raise Unavailable("the process connector needs root")
    if one_cpu_only():
        raise Unavailable(one_cpu_only())
    every = contenders(build, unpacked, exe, folder)
    return [c for c in every if not c.missing()], [(c.name, c.missing()) for c in every if c.missing()]


def starts(build, backend, exe, folder):
    """(median, p99) of the event alone, from exec to all threads bound, and from the last thread there to that: microseconds."""
    here, left_out = available(build, None, exe, folder)
    ours = [c for c in here if c.name.endswith(backend)]
    if not ours:
        raise Unavailable(dict(left_out)["tidbnumad, " + backend])
    starter = os.path.join(build, "tests/sandbox/sandbox-starter")
    seen = []
    with ours[0], subprocess.Popen([starter, "each", exe, str(bound_cpu()), str(THREADS)], text=True, bufsize=1,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(STARTS):
            process.stdin.write("\n")
            _, delivered, _, _, _, there, bound = map(int, process.stdout.readline().split())
            seen.append((delivered, bound, bound - there))
            process.stdin.write("\n")
            time.sleep(0.003)
        process.stdin.close()
    if min(bound for _, bound, _ in seen) < 0:
        raise Unavailable("%d of %d starts were not bound" % (sum(bound < 0 for _, bound, _ in seen), STARTS))
    return [(quantile(values, 0.5), quantile(values, 0.99)) for values in zip(*seen)]


def storms(build, unpacked, exe, other, folder):
    """([Storms], [(name, why it was left out)]); they take turns, so that what disturbs disturbs all."""
    here, left_out = available(build, unpacked, exe, folder)
    seen = [Storms(contender) for contender in here]
    for _ in range(ROUNDS):
        for one in list(seen):
            try:
                one.blow(os.path.join(build, "tests/sandbox/sandbox-starter"), exe, other)
            except Unavailable as why:
                seen.remove(one)
                left_out.append((one.contender.name, str(why)))
    return seen, left_out


@contextlib.contextmanager
def population(exe, other):
    """Twenty servers with their threads, and a host full of others that sleep."""
    processes = [subprocess.Popen([exe, "threads", str(INSTANCE_THREADS)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE) for _ in range(INSTANCES)]
    try:
        for process in processes:
            process.stdout.readline()
        pids = [os.posix_spawn(other, [other, "wait"], os.environ) for _ in range(PROCESSES - INSTANCES)]
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, 9)
            for pid in pids:
                os.waitpid(pid, 0)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()


def steady(build, unpacked, exe, other, folder, backend):
    """[(name, % of a core, resident MiB)], all at once over the same minute, and those left out.

    The first does what the peers do: it watches and binds. With affinity the second also draws samples of where memory is,
    which no peer does. With cgroup1 without cgrulesengd: both would pull at the same processes."""
    here, left_out = available(build, unpacked, exe, folder)
    if not any(c.name.endswith(backend) for c in here):
        raise Unavailable(dict(left_out)["tidbnumad, " + backend])
    peers = [c for c in here if not c.is_ours() and not (backend == "cgroup1" and c.name == "cgrulesengd")]
    left_out = [(name, why) for name, why in left_out if not name.startswith("tidbnumad")]
    hosts = ("sampling: {interval: 1h}\n", "") if backend == "affinity" else ("sampling: {interval: 1h}\n",)
    ours = [Ours(daemon(build), backend, exe, folder, host) for host in hosts]
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(one) for one in ours]
        for contender in peers:
            try:
                running.append(stack.enter_context(contender))
            except Unavailable as why:
                left_out.append((contender.name, str(why)))
        stack.enter_context(population(exe, other))
        time.sleep(SETTLE_SECONDS)
        begin, used = time.monotonic(), [one.cpu_seconds() for one in running]
        time.sleep(WATCHED_SECONDS)
        took = time.monotonic() - begin
        return [(one.name, (one.cpu_seconds() - before) / took * 100, one.resident_mib())
                for one, before in zip(running, used)], left_out
