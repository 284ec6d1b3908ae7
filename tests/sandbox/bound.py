"""What the sandbox scripts share that let the daemon bind: the policy, and what the kernel made of it.

The witness is /proc/PID/task/*/status and never the daemon's own word.
"""
import os
import re
import subprocess
import time

from sandbox import Failed, Suite, first_node, poll, policy, skip_all

BACKENDS = ("affinity", "cgroup1")  # those that need no systemd
# The daemon has the capabilities of its unit, and no more.
CAPABILITIES = ("setpriv", "--bounding-set", "-all,+sys_ptrace,+sys_nice,+net_admin,+dac_read_search")


def binding_suite():
    """A suite for a host on which a binding can be told from no binding."""
    suite = Suite()
    if one_cpu_only():
        skip_all(one_cpu_only())
    return suite


def enforced(exe, backend="affinity", keys=(), host="", **match):
    """A policy that binds to one CPU of the first node, and leaves memory alone."""
    return policy(exe, keys=('cpus: "%d"' % bound_cpu(), "memory: none", *keys),
                  host="enforcement: {mode: enforce, backend: %s}\n%s" % (backend, host), **match)


def for_each_backend(suite, name, function):
    """A case for each backend that this host can have."""
    def run(backend):
        try:
            function(backend)
        finally:
            remove_leftovers(backend)
    for backend in BACKENDS:
        title, why = "%s, backend %s" % (name, backend), backend_missing(backend)
        if why:
            suite.skip(title, why)
        else:
            suite.case(title, lambda using=backend: run(using))


def usable_cpus():
    """Those of the first node that this test may use."""
    with open("/sys/devices/system/node/node%d/cpulist" % first_node(), encoding="ascii") as f:
        return ids_of(f.read()) & os.sched_getaffinity(0)


def bound_cpu():
    """The last one of these."""
    return max(usable_cpus())


def ids_of(text):
    """'0-2,5' as a set."""
    ends = [part.split("-") for part in text.strip().split(",") if part]
    return {i for end in ends for i in range(int(end[0]), int(end[-1]) + 1)}


def one_cpu_only():
    """Why nothing can be bound here, or None."""
    return "this test may use one CPU only: to be bound changes nothing" if len(usable_cpus()) < 2 else None


def backend_missing(backend):
    """Why this host cannot have it, or None."""
    folder = cpuset_folder()
    if backend == "cgroup1" and not folder:
        return "no cpuset hierarchy of cgroup v1 here"
    if backend == "cgroup1" and os.path.exists(folder + "/tidbnumad"):
        return "%s/tidbnumad is there: another daemon is at work" % folder
    return one_cpu_only()


def cpuset_folder():
    """Where the cpuset hierarchy of cgroup v1 is, or None."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as f:
        mounts = [line.split() for line in f]
    return next((m[1] for m in mounts if m[2] == "cgroup" and "cpuset" in m[3].split(",")), None)


def cpuset_of(pid):
    """The lines of /proc/PID/cgroup that name the cpuset hierarchy of cgroup v1."""
    with open("/proc/%s/cgroup" % pid, encoding="ascii") as f:
        return [line for line in f if "cpuset" in line.split(":")[1].split(",")]


def cpuset_path(pid):
    """Its path in that hierarchy, or None."""
    return next((line.rstrip("\n").split(":", 2)[2] for line in cpuset_of(pid)), None)


def remove_leftovers(backend):
    """What a daemon leaves whose case failed, or that was stopped before its processes."""
    own = "%s/tidbnumad" % cpuset_folder()
    if backend != "cgroup1" or not os.path.isdir(own):
        return
    for folder in [entry.path for entry in os.scandir(own) if entry.is_dir()] + [own]:
        poll("%s is empty" % folder, lambda path=folder: not os.path.exists(path) or is_removed(path))


def is_removed(folder):
    try:
        os.rmdir(folder)
        return True
    except OSError:
        return False


def allowed_cpus(pid):
    """{tid: set of CPUs} of all threads, as the kernel tells; one that ends meanwhile is left out."""
    allowed = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/status" % (pid, tid), encoding="ascii", errors="replace") as f:
                allowed[int(tid)] = ids_of(re.search(r"^Cpus_allowed_list:\s*(\S*)$", f.read(), re.M)[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return allowed


def is_bound(pid):
    """Do all its threads have the CPU of enforced(), and that alone?"""
    allowed = allowed_cpus(pid)
    return bool(allowed) and all(cpus == {bound_cpu()} for cpus in allowed.values())


def expect_bound(pid, seconds=5.0):
    poll(lambda: "process %d bound to CPU %d; it has %s" % (pid, bound_cpu(), allowed_cpus(pid)),
         lambda: is_bound(pid), seconds)


def expect_untouched(pid):
    """That it has all the CPUs that this test has; to be asked once the daemon had its time."""
    wrong = {tid: cpus for tid, cpus in allowed_cpus(pid).items() if cpus != os.sched_getaffinity(0)}
    if wrong:
        raise Failed("process %d was touched: its threads have %s" % (pid, wrong))


def cpu_seconds(pid):
    """What all threads of that process have used, also those that ended, to the nanosecond."""
    return time.clock_gettime(~pid << 3 | 2)  # CLOCK_PROCESS_CPUTIME_ID of another process, as in clock_getcpuclockid()


class Storm:
    """Short processes in great numbers, and among them some of `exe` that go on until the end of the `with`."""

    def __init__(self, starter, exe, other, seconds, per_second, matching):
        self.command = [starter, "storm", exe, other, *map(str, (bound_cpu(), seconds, per_second, matching))]
        self.matching, self.usec = matching, {}  # PID: from exec to bound; None: not within seconds
        self.main_usec = []  # from exec to main(), where they look at themselves for the first time
        self.starts = self.seconds = 0

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while not self.starts or len(self.usec) < self.matching:
            word, *numbers = self.process.stdout.readline().split()
            if word == "storm":
                self.starts, self.seconds = int(numbers[0]), int(numbers[1]) / 1e6
            else:
                self.usec[int(numbers[0])] = int(numbers[1]) if word == "bound" else None
                if word == "bound":
                    self.main_usec.append(int(numbers[1]) - int(numbers[2]))
        return self

    def __exit__(self, *problem):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def quantile(values, part):
    """The smallest of the values that so many of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
