"""What the sandbox scripts share that let the daemon bind: the policy, and what the kernel made of it.

The witness is /proc/PID/task/*/status and never the daemon's own word.
"""
import os
import re
import time

from sandbox import Failed, first_node, poll, policy

BACKENDS = ("affinity", "cgroup1")  # those that need no systemd


def enforced(exe, backend="affinity", keys=(), host="", **match):
    """A policy that binds to one CPU of the first node, and leaves memory alone."""
    return policy(exe, keys=('cpus: "%d"' % bound_cpu(), "memory: none", *keys),
                  host="enforcement: {mode: enforce, backend: %s}\n%s" % (backend, host), **match)


def for_each_backend(suite, name, function):
    """A case for each backend that this host can have."""
    for backend in BACKENDS:
        title, why = "%s, backend %s" % (name, backend), backend_missing(backend)
        if why:
            suite.skip(title, why)
        else:
            suite.case(title, lambda using=backend: function(using))


def bound_cpu():
    """The last CPU of the first node that this test may use."""
    with open("/sys/devices/system/node/node%d/cpulist" % first_node(), encoding="ascii") as f:
        return max(ids_of(f.read()) & os.sched_getaffinity(0))


def ids_of(text):
    """'0-2,5' as a set."""
    ends = [part.split("-") for part in text.strip().split(",") if part]
    return {i for end in ends for i in range(int(end[0]), int(end[-1]) + 1)}


def one_cpu_only():
    """Why nothing can be bound here, or None."""
    with open("/sys/devices/system/node/node%d/cpulist" % first_node(), encoding="ascii") as f:
        if len(ids_of(f.read()) & os.sched_getaffinity(0)) < 2:
            return "this test may use one CPU only: to be bound changes nothing"
    return None


def backend_missing(backend):
    """Why this host cannot have it, or None."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as f:
        mounts = [line.split() for line in f]
    if backend == "cgroup1" and not any(m[2] == "cgroup" and "cpuset" in m[3].split(",") for m in mounts):
        return "no cpuset hierarchy of cgroup v1 here"
    return one_cpu_only()


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


def quantile(values, part):
    """The smallest of the values that so many of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
