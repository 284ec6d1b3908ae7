"""What the sandbox scripts share: TAP, the daemon under test, and processes for it to find.

Nothing but what a script itself has started is ever signalled, and the executables' names are
random, so that on the developer's machine nobody else's process can match a policy of ours.
"""
import atexit
import errno
import json
import mmap
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

NETLINK_CONNECTOR = 11
LACKS = os.environ.get("TIDBNUMAD_SANDBOX_LACKS", "")  # system calls that the daemon is to do without, see lacking
LONG = bool(os.environ.get("TIDBNUMAD_LONG"))  # ./dev test --long
PROCESS_LINE = re.compile(r"^process (\d+) \((.*)\) belongs to (\S+) of policy '(.*)'$", re.M)
NOBODY = 65534
AS_NOBODY = ("setpriv", "--reuid=%d" % NOBODY, "--clear-groups")
SANITIZER_REPORT = re.compile(r"^.*(?:(?:Address|Leak)Sanitizer: |runtime error: ).*$", re.M)
TURN_MSEC = 100  # the most that others may make a turn of the daemon's loop take
NO_LONG_TURN = "no turn of the loop took more than %d ms" % TURN_MSEC
LOCATED = re.compile(r"^\S+:\d+:\d+: ")


class Failed(Exception):
    """A case did not go as it should; the text says what was seen."""


def skip_all(why):
    print("1..0 # SKIP " + why)
    sys.exit(77)


def is_sanitized(program):
    with open(program, "rb") as f:
        return b"__asan_init" in f.read()


def listen_once():
    """Subscribes to the process connector, and waits for the kernel's acknowledgement."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR) as s:
        s.bind((0, 1))
        s.send(struct.pack("=IHHII", 40, 3, 0, 0, 0) + struct.pack("=IIIIHHI", 1, 1, 0, 0, 4, 0, 1))
        s.settimeout(10)  # on a busy host the acknowledgement may take its time
        try:
            return bool(s.recv(4096))
        except OSError as problem:  # more events than it has room for: a busy host
            return problem.errno == errno.ENOBUFS


def connector_works(prefix=()):
    """Found out without the daemon, in a process of its own below `prefix`."""
    return subprocess.run([*prefix, sys.executable, os.path.realpath(__file__)], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def own_service():
    """The service that this very test runs in, or None."""
    with open("/proc/self/cgroup", encoding="ascii") as f:
        lines = f.read().splitlines()
    path = next((line for line in lines if line.startswith("0::")), "")
    path = path or next((line for line in lines if ":name=systemd:" in line), "")
    units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
    if units and units[0].endswith(".service") and not units[0].startswith("user@"):
        return units[0]
    return None


def make_folder(name, in_memory=False):
    """Folders that the daemon writes to are in memory, as /run is: writes to a disk wait for its journal, and so does
    the first write to a page of a mapped file after each time that it was written back."""
    place = "/dev/shm" if in_memory and os.path.ismount("/dev/shm") else None
    path = tempfile.mkdtemp(prefix="tidbnumad-%s." % name, dir=place)
    os.chmod(path, 0o755)
    return path


class LoopMeter:
    """The page of loop-meter.c."""

    FIELDS = ("most", "cpu", "wall", "turns", "over", "has_turn")

    def __init__(self, path, title):
        self.path, self.title = path, title
        with open(path, "w+b") as f:
            f.truncate(mmap.PAGESIZE)
            self.page = mmap.mmap(f.fileno(), mmap.PAGESIZE)

    def reset(self):
        """What was measured before does not count; the turn that goes on does."""
        self.page[:] = bytes(len(self.page))

    def read(self):
        return dict(zip(self.FIELDS, struct.unpack_from("=%dQ" % len(self.FIELDS), self.page)))

    def __str__(self):
        taken = self.read()
        return "%.0f ms (%.0f ms of them work; %.0f ms with the wait for a CPU), %d of %d turns above %d ms: %s" % (
            taken["most"] / 1e6, taken["cpu"] / 1e6, taken["wall"] / 1e6, taken["over"], taken["turns"], TURN_MSEC, self.title)


def metered(library, path, env=None):
    """The environment of a program whose loop is to be measured."""
    preloaded = [library] + ([env["LD_PRELOAD"]] if env and "LD_PRELOAD" in env else [])
    return {**(env or {}), "LD_PRELOAD": ":".join(preloaded), "TIDBNUMAD_LOOP_METER": path}


def expect_short_turns(meters):
    for meter in meters:
        print("# longest turn: %s" % meter)
    if not any(meter.read()["turns"] for meter in meters):
        raise Failed("no turn of the loop was seen: it does not wait by a call that loop-meter.c knows")
    long = [str(meter) for meter in meters if meter.read()["over"]]
    if long:
        raise Failed("\n".join(long))


class Suite:
    """One script: sorts out whether it can run here, then runs its cases and prints TAP."""

    def __init__(self, connector=True):
        self.n = self.bad = 0
        if len(sys.argv) != 2:
            sys.exit("usage: %s BUILD_DIR" % sys.argv[0])
        build = os.path.realpath(sys.argv[1])
        self.program = os.path.join(build, "src/daemon/tidbnumad")
        self.child, self.short, self.starter, self.malloc_counter = (
            os.path.join(build, "tests/sandbox", file) for file in (
                "sandbox-child", "sandbox-short", "sandbox-starter", "libsandbox-malloc-counter.so"))
        self.lacking = os.path.join(build, "tests/lacking")
        self.loop_meter = os.path.join(build, "tests/sandbox/libsandbox-loop-meter.so")
        self.meters = None
        self.title = ""
        self.sanitized = is_sanitized(self.program)
        if os.geteuid() != 0:
            skip_all("needs root: sudo ./dev test sandbox")
        for path in (self.program, self.child, self.short, self.starter, self.lacking):
            if not os.access(path, os.X_OK):
                sys.exit("there is no %s: ./dev build" % path)
        if connector and not connector_works():
            skip_all("no process connector here (a container, or a kernel without CONFIG_PROC_EVENTS)")
        if own_service():
            skip_all("this shell runs inside %s, so all its processes count as one instance; "
                     "run: systemd-run --scope ./dev test sandbox" % own_service())
        self.dir = make_folder("sandbox")
        self.memory_dir = make_folder("sandbox", in_memory=True)
        self.started, self.daemons = [], []
        atexit.register(self.clean)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # of a timeout: without this nothing is cleaned up

    def end_since(self, n_started, n_daemons):
        for process in self.started[n_started:] + [daemon.process for daemon in self.daemons[n_daemons:]]:
            if process.poll() is None:
                process.kill()
                process.wait()

    def clean(self):
        self.end_since(0, 0)
        for path in (self.dir, self.memory_dir):
            shutil.rmtree(path, ignore_errors=True)

    def case(self, name, function):
        self.n += 1
        self.title = name
        before = len(self.started), len(self.daemons)
        try:
            function()
            self.expect_no_report(self.daemons[before[1]:])
            print("ok %d - %s" % (self.n, name))
        except Exception as problem:  # the next cases count as well
            self.bad += 1
            self.end_since(*before)  # what it leaves behind must not fail them too
            print("not ok %d - %s" % (self.n, name))
            text = str(problem) if isinstance(problem, Failed) else traceback.format_exc()
            print("\n".join("# " + line for line in text.splitlines()))
        sys.stdout.flush()

    def expect_no_report(self, daemons):
        for daemon in daemons if self.sanitized else ():
            report = SANITIZER_REPORT.search(daemon.log())
            if report:
                raise Failed("a sanitizer said: %s\n%s" % (report[0], daemon.log()[report.start():][:4000]))

    def skip_sanitized(self, why):
        """For a script that judges what the sanitizers do as well."""
        if self.sanitized:
            skip_all("a build with sanitizers: " + why)

    def skip(self, name, why):
        self.n += 1
        print("ok %d - %s # SKIP %s" % (self.n, name, why))

    def todo(self, name, why, function):
        """What is known not to be so yet: it does not fail the suite."""
        self.n += 1
        try:
            function()
            print("ok %d - %s # TODO is so now: %s" % (self.n, name, why))
        except Failed:
            print("not ok %d - %s # TODO %s" % (self.n, name, why))

    def measure_loop(self):
        """Of each daemon from now on, once it is ready. A sanitizer makes each turn longer: there nothing is measured."""
        self.meters = None if self.sanitized else []

    def loop_meter_of(self, daemon_count):
        if self.meters is None:
            return None
        self.meters.append(LoopMeter(os.path.join(self.memory_dir, "meter%d" % daemon_count), self.title))
        return self.meters[-1]

    def finish(self):
        if self.meters:
            self.case(NO_LONG_TURN, lambda: expect_short_turns(self.meters))
        print("1..%d" % self.n)
        sys.exit(1 if self.bad else 0)

    def executable(self, name=None, source=None):
        """A new program with a name that nobody else has."""
        path = os.path.join(self.dir, name or "tnd-%s" % secrets.token_hex(4))  # below the kernel's 15 characters
        shutil.copyfile(source or self.child, path)
        os.chmod(path, 0o755)
        return path

    def start(self, *command, **options):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, **options)
        self.started.append(process)
        return process

    def daemon(self, policies, **options):
        daemon = Daemon(self, policies, **options)
        self.daemons.append(daemon)
        return daemon


def end(process, number=signal.SIGKILL):
    process.send_signal(number)
    return process.wait(timeout=10)


def end_if_alive(*processes):
    for process in processes:
        if process.poll() is None:
            end(process)


def make_zombie(process):
    """Kills it and leaves it to be reaped by wait()."""
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def status_field(pid, field):
    """The text behind `field` in /proc/PID/status."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return re.search(r"^%s:[ \t]*(.*?)(?: kB)?$" % field, f.read(), re.M)[1]


def poll(what, function, seconds=5.0):
    """Until the function gives something true; returns it."""
    deadline = time.monotonic() + seconds
    while True:
        found = function()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failed("not within %g s: %s" % (seconds, what() if callable(what) else what))
        time.sleep(0.02)


def policy(exe, name="ours", keys=(), host="", **match):
    """`keys`: more keys of the policy; `host`: more lines of the file."""
    lines = ["version: 1", "policies:", "  - name: " + name, "    match:", '      exe: "%s"' % exe]
    lines += ["      %s: %s" % (key, str(value).lower() if isinstance(value, bool) else '"%s"' % value)
              for key, value in match.items()]
    lines += ["    place: {nodes: %d}" % first_node()]
    return "\n".join(lines + ["    " + key for key in keys] + [host, ""])


def first_node():
    with open("/sys/devices/system/node/has_cpu", encoding="ascii") as f:
        return int(re.match(r"\d+", f.read())[0])


class Daemon:
    """The real program, that never sees the host's policies; in a dry run unless it is to `enforce`."""

    count = 0

    def __init__(self, suite, policies, runtime=None, prefix=(), env=None, debug=True, enforce=False, waits=True, folder=None):
        Daemon.count += 1
        self.sanitized = suite.sanitized
        if LACKS:
            prefix = (*prefix, suite.lacking, LACKS)
        self.ctl_program = os.path.join(os.path.dirname(suite.program), "../ctl/tidbnumactl")
        self.policy_dir = folder or os.path.join(suite.dir, "policies%d" % Daemon.count)
        self.runtime_dir = runtime or os.path.join(suite.memory_dir, "run%d" % Daemon.count)
        self.log_path = os.path.join(suite.memory_dir, "log%d" % Daemon.count)
        if not folder:
            os.mkdir(self.policy_dir, 0o755)
        if policies is not None:
            self.write_policy(policies)
        self.meter = suite.loop_meter_of(Daemon.count)
        if self.meter:
            env = metered(suite.loop_meter, self.meter.path, env)
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*prefix, suite.program, "--policy-dir", self.policy_dir, "--runtime-dir", self.runtime_dir]
                + ([] if enforce else ["--dry-run"]) + (["--debug"] if debug else []),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**environment, **(env or {})})
        if waits:
            try:
                poll(lambda: "the daemon is ready; it said:\n" + self.log(), self.is_ready, 10)
            except Failed:
                self.__exit__()  # nobody else knows of it
                raise
            if self.meter:
                self.meter.reset()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        """A case that fails leaves no daemon behind for the next."""
        end_if_alive(self.process)

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failed("the daemon ended with %d and said:\n%s" % (self.process.returncode, self.log()))
        # Its own start, not what a former run has left behind.
        return "tidbnumad " in self.log() and self.status()

    def write_policy(self, text, name="p.yaml"):
        path = os.path.join(self.policy_dir, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)

    def status(self):
        try:
            with open(os.path.join(self.runtime_dir, "status.json"), encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def sample(self, name):
        with open(os.path.join(self.runtime_dir, "metrics.prom"), encoding="utf-8") as f:
            return float(re.search("^%s (.*)$" % re.escape(name), f.read(), re.M)[1])

    def series(self):
        """The names with their labels."""
        with open(os.path.join(self.runtime_dir, "metrics.prom"), encoding="utf-8") as f:
            return {line.rsplit(" ", 1)[0] for line in f if not line.startswith("#")}

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def seen(self):
        """{pid: instance} of all that it ever took as belonging to a policy."""
        return {int(pid): name for pid, _, name, _ in PROCESS_LINE.findall(self.log())}

    def instances(self):
        return {i["pid"]: i for i in self.status()["instances"]}

    def expect(self, pid, seconds=5.0):
        def why():
            return "process %d in status.json, which has %s\nthe log's end:\n%s" % (
                pid, sorted(self.instances()), self.log()[-1500:])
        return poll(why, lambda: self.instances().get(pid), seconds)

    def expect_gone(self, pid, seconds=5.0):
        poll("process %d gone from status.json" % pid, lambda: pid not in self.instances(), seconds)

    def never(self, pid, reference):
        """`reference` was started after `pid` and is found: had it wanted `pid`, it would have been before."""
        self.expect(reference.pid)
        if pid in self.seen() or pid in self.instances():
            raise Failed("process %d was taken, and must not be" % pid)

    def load_times(self):
        """As both files tell them; they are written one after the other."""
        return (self.status()["policy"]["load_time_seconds"],
                self.sample("tidbnumad_policy_last_load_timestamp_seconds"))

    def reload(self):
        before, size = self.load_times(), len(self.log())
        self.process.send_signal(signal.SIGHUP)
        poll("the reload shows in status.json and metrics.prom",
             lambda: all(now != then for now, then in zip(self.load_times(), before)))
        return self.log()[size:]

    def ctl(self, *words, timeout=240):
        """What the operator asks of it: exit status and all that was printed."""
        done = subprocess.run([self.ctl_program, *words, "--runtime-dir", self.runtime_dir], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout)
        return done.returncode, done.stdout

    def open_fds(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def memory_kib(self, field):
        """0 in a build with sanitizers, where most of it is theirs: a limit is not judged there."""
        return 0 if self.sanitized else int(status_field(self.process.pid, field))

    def anonymous_kib(self):
        return self.memory_kib("RssAnon")

    def resident_kib(self):
        """The most that it ever had, of files too."""
        return self.memory_kib("VmHWM")

    def stop(self):
        return end(self.process, signal.SIGTERM)


if __name__ == "__main__":
    listen_once()
