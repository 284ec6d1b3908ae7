"""Our daemon, and what a user would have otherwise: TuneD's scheduler plugin and cgrulesengd, as Debian has them.

Those two are not installed. `./dev bench` unpacks their packages into a folder; here they run in a mount namespace where
that folder lies over the host's root, so nothing outside of it is written, and no service is started. What is to be bound
is bound on this very host all the same: by its kernel, for processes that the bench started.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../sandbox"))
from bound import BACKENDS, bound_cpu, cpu_seconds, cpuset_folder, enforced, remove_leftovers  # noqa: E402
from sandbox import first_node  # noqa: E402

READY_SECONDS = 30

OVER_THE_ROOT = """set -e
mount -t tmpfs tmpfs {dir}
cd {dir}
mkdir upper work root
cp -a {unpacked}/. {files}/. upper
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
for folder in proc sys dev; do mount --rbind /$folder root/$folder; done
exec chroot root {command}
"""

TUNED_MAIN = """daemon=1
dynamic_tuning=0
enable_dbus=0
enable_unix_socket=0
"""
TUNED_PROFILE = """[main]
summary=one group of the scheduler plugin
[scheduler]
runtime=1
default_irq_smp_affinity=ignore
group.bench=0:*:*:{mask:x}:{exe}
"""


class Unavailable(Exception):
    """Why this host cannot give a figure."""


class Contender:
    """A `with` that holds a running one; `exe` is the program that it is to bind to bound_cpu()."""

    def __init__(self, name, exe, folder):
        self.name, self.exe = name, exe
        self.dir = tempfile.mkdtemp(dir=folder)
        self.log_path = os.path.join(self.dir, "log")

    def is_ours(self):
        return False

    def missing(self):
        """Why it cannot run here, or None."""
        return None

    def prepare(self):
        pass

    def command(self):
        raise NotImplementedError

    def __enter__(self):
        self.prepare()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait_until_it_binds()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.clean()

    def clean(self):
        pass

    def wait_until_it_binds(self):
        """The only sign of readiness that all have in common."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            child = subprocess.Popen([self.exe, "wait"], stdin=subprocess.DEVNULL)
            try:
                time.sleep(0.3)
                if os.sched_getaffinity(child.pid) == {bound_cpu()}:
                    return
            finally:
                child.kill()
                child.wait()
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            said = " | ".join(f.read().splitlines()[-3:])
        raise Unavailable("%s does not bind on this host; it said: %s" % (self.name, said or "nothing"))

    def cpu_seconds(self):
        """Its own, and of its child processes: those that run by the nanosecond, those that have ended by the tick."""
        used = cpu_seconds(self.process.pid)
        for path in glob.glob("/proc/%d/task/*/children" % self.process.pid):
            with open(path, encoding="ascii") as f:
                used += sum(cpu_seconds(int(pid)) for pid in f.read().split())
        with open("/proc/%d/stat" % self.process.pid, encoding="utf-8", errors="replace") as f:
            ended = f.read().rpartition(")")[2].split()[13:15]  # cutime, cstime: proc(5)
        return used + sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as f:
            return int(re.search(r"VmRSS:\s*(\d+) kB", f.read())[1]) / 1024


def runtime_parent():
    """A folder in memory, as /run is where the daemon has its own; None, the usual one, where there is none.

    On a disk's file system the record of a start takes longer than all else that is done for it."""
    return next((path for path in ("/run", "/dev/shm") if os.access(path, os.W_OK) and is_tmpfs(path)), None)


def is_tmpfs(path):
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as f:
        return any(line.split()[1:3] == [path, "tmpfs"] for line in f)


class Ours(Contender):
    """`host`: further lines of its policy."""

    def __init__(self, program, backend, exe, folder, host=""):
        super().__init__("tidbnumad, " + backend, exe, folder)
        self.program, self.backend, self.host = program, backend, host

    def is_ours(self):
        return True

    def missing(self):
        if self.backend != "cgroup1":
            return None
        if not cpuset_folder():
            return "no cpuset hierarchy of cgroup v1 here"
        if os.path.exists(cpuset_folder() + "/tidbnumad"):
            return "%s/tidbnumad is there: another daemon is at work" % cpuset_folder()
        return None

    def prepare(self):
        self.runtime = tempfile.mkdtemp(prefix="tidbnumad-bench.", dir=runtime_parent())
        self.policies = tempfile.mkdtemp(dir=self.dir)
        os.chmod(self.policies, 0o755)
        path = os.path.join(self.policies, "p.yaml")
        with open(path, "w", encoding="ascii") as f:
            f.write(enforced(os.path.basename(self.exe), self.backend, host=self.host))
        os.chmod(path, 0o644)

    def command(self):
        return [self.program, "--policy-dir", self.policies, "--runtime-dir", os.path.join(self.runtime, "run")]

    def clean(self):
        shutil.rmtree(self.runtime, ignore_errors=True)
        remove_leftovers(self.backend)


class Unpacked(Contender):
    """One of Debian's, from the folder that its packages were unpacked into."""

    program = ()

    def __init__(self, name, unpacked, exe, folder):
        super().__init__(name, exe, folder)
        self.unpacked = unpacked

    def missing(self):
        if not self.unpacked or not os.path.exists(self.unpacked + self.program[-1]):
            return "its package was not unpacked: run it as ./dev bench, with the network there"
        probe = subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL)
        if probe.returncode:
            return "no mount namespace can be made here"
        return None

    def prepare(self):
        self.files = os.path.join(self.dir, "files")
        shutil.rmtree(self.files, ignore_errors=True)
        for path, text in self.settings().items():
            os.makedirs(os.path.dirname(self.files + path), exist_ok=True)
            with open(self.files + path, "w", encoding="ascii") as f:
                f.write(text)

    def settings(self):
        raise NotImplementedError

    def command(self):
        over = os.path.join(self.dir, "over")
        os.makedirs(over, exist_ok=True)
        words = {"dir": over, "unpacked": self.unpacked, "files": self.files}
        script = OVER_THE_ROOT.format(command=shlex.join([*self.program, *self.options()]),
                                      **{key: shlex.quote(value) for key, value in words.items()})
        return ["unshare", "--mount", "--propagation", "private", "bash", "-c", script]

    def options(self):
        return ()


class Tuned(Unpacked):
    program = ("/usr/bin/python3", "-Es", "/usr/sbin/tuned")

    def options(self):
        return "--no-dbus", "--no-socket", "--profile", "bench"

    def settings(self):
        return {"/etc/tuned/tuned-main.conf": TUNED_MAIN,
                "/etc/tuned/bench/tuned.conf": TUNED_PROFILE.format(mask=1 << bound_cpu(), exe=re.escape(self.exe))}


class Cgrulesengd(Unpacked):
    """With a group of cgroup v1's cpuset hierarchy that is made for it by hand, as its users do."""

    program = ("/usr/sbin/cgrulesengd",)

    def missing(self):
        return super().missing() or (None if cpuset_folder() else "no cpuset hierarchy of cgroup v1 here")

    def options(self):
        return ("--nodaemon",)

    def group(self):
        return os.path.join(cpuset_folder(), os.path.basename(self.exe))

    def settings(self):
        return {"/etc/cgrules.conf": "*:%s cpuset %s\n" % (self.exe, os.path.basename(self.exe)),
                "/etc/cgconfig.conf": "", "/etc/cgconfig.d/none.conf": ""}

    def prepare(self):
        super().prepare()
        os.mkdir(self.group())
        for file, value in ("cpuset.cpus", bound_cpu()), ("cpuset.mems", first_node()):
            with open(os.path.join(self.group(), file), "w", encoding="ascii") as f:
                f.write(str(value))

    def clean(self):
        deadline = time.monotonic() + 5
        while True:
            try:
                os.rmdir(self.group())
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def daemon(build):
    return os.path.join(build, "src/daemon/tidbnumad")


def contenders(build, unpacked, exe, folder):
    return [*(Ours(daemon(build), backend, exe, folder) for backend in BACKENDS),
            Tuned("TuneD", unpacked, exe, folder), Cgrulesengd("cgrulesengd", unpacked, exe, folder)]
