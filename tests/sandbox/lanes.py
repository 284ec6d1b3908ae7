"""A script several times side by side, for what waits more than it computes. Each lane has a part of the work, and control groups
of its own, as if it were alone on the host.
"""
import atexit
import contextlib
import os
import re
import subprocess
import sys

from bound import cpuset_folder
from sandbox import Failed, poll

SETTING = "TIDBNUMAD_LANE"  # "2/12": this process is the third of twelve
PER_CPU = 6
RESULT = re.compile(r"(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$")
# What the kernel shows from here on is relative to the group that this shell is in.
ENTER = """
[ -z "$1" ] || echo $$ >"$1/cgroup.procs" || exit
exec unshare --mount --cgroup sh -c '
[ -z "$1" ] || { umount -l "$1" && mount -t cgroup -o cpuset cpuset "$1"; } || exit
shift
exec "$@"' sh "$2" "${@:3}"
"""


def own_lane():
    """(number, how many); None in a process that is no lane."""
    words = os.environ.get(SETTING, "").split("/")
    return (int(words[0]), int(words[1])) if len(words) == 2 else None


def n_lanes():
    return PER_CPU * len(os.sched_getaffinity(0))


class Lane:
    def __init__(self, suite, number, n):
        self.number, self.output = number, os.path.join(suite.dir, "lane%d" % number)
        self.group = make_group("tidbnumad-lane%d-%d" % (number, os.getpid()))
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                ["bash", "-c", ENTER, "bash", self.group or "", cpuset_folder() or "", sys.executable, "-B", *sys.argv],
                env={**os.environ, SETTING: "%d/%d" % (number, n)}, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        suite.started.append(self.process)

    def ends(self):
        """[(is it ok, title, why it was skipped or None, comments)] of its cases, in their order."""
        status, cases, comments = self.process.wait(), [], []
        with open(self.output, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()
        for line in lines:
            result = RESULT.match(line)
            if result:
                cases.append((not result[1], result[2], result[3], comments))
                comments = []
            elif line.startswith("# ") and cases and not cases[-1][0]:
                cases[-1][3].append(line)  # why it failed comes after it
            else:
                comments.append(line)
        if status not in (0, 1) or "1..%d" % len(cases) not in lines:
            raise Failed("lane %d ended with %d and said:\n%s" % (self.number, status, "\n".join(lines[-20:])))
        return cases


    def remove_group(self):
        def is_gone():
            for folder, _, _ in os.walk(self.group, topdown=False):  # those of a daemon that was killed too
                with contextlib.suppress(OSError):  # as long as something of the lane ends
                    os.rmdir(folder)
            return not os.path.exists(self.group)
        if self.group:
            poll("%s is empty" % self.group, is_gone, 20)


def make_group(name):
    """A cpuset group that has what this process has, or None."""
    if not cpuset_folder():
        return None
    with open("/proc/self/cgroup", encoding="ascii") as f:
        path = next(line.rstrip("\n").split(":", 2)[2] for line in f if "cpuset" in line.split(":")[1].split(","))
    above = cpuset_folder() + path.rstrip("/")
    group = "%s/%s" % (above, name)
    os.mkdir(group)
    for file in "cpuset.cpus", "cpuset.mems":
        with open("%s/%s" % (above, file), encoding="ascii") as have, open("%s/%s" % (group, file), "w", encoding="ascii") as f:
            f.write(have.read())
    return group


def judge(results):
    """One case of all lanes."""
    for number, (_, _, _, comments) in enumerate(results):
        for line in comments:
            print("# lane %d: %s" % (number, line.removeprefix("# ")))
    # Lanes say "N faults"; their sum is what was tried.
    print("# %d faults in %d lanes" % (sum(int(n) for _, _, _, comments in results
                                           for n in re.findall(r"(\d+) faults\b", "\n".join(comments))), len(results)))
    bad = [number for number, result in enumerate(results) if not result[0]]
    if bad:
        raise Failed("it failed in lanes %s, see above" % bad)


def end_lanes(lanes):
    """Where a timeout ends this script: each lane ends what it has started, and its group is removed."""
    for lane in lanes:
        if lane.process.poll() is None:
            lane.process.terminate()
    for lane in lanes:
        with contextlib.suppress(Failed, subprocess.TimeoutExpired):
            lane.process.wait(20)
            lane.remove_group()


def run_lanes(suite):
    """This script in lanes; ends with what came out."""
    n = n_lanes()
    lanes = []
    atexit.register(end_lanes, lanes)
    lanes += [Lane(suite, number, n) for number in range(n)]
    print("# %d lanes" % n, flush=True)
    per_case = []

    def end():
        for lane in lanes:
            lane.process.wait()
            lane.remove_group()
        per_case.extend(zip(*[lane.ends() for lane in lanes]))
    suite.case("each lane came to its end", end)
    for results in per_case:
        _, title, skipped, _ = results[0]
        if skipped:
            suite.skip(title, skipped)
        else:
            suite.case(title, lambda lanes_results=results: judge(lanes_results))
    suite.finish()
