"""The trees that blackbox changes: dumps with the processes of golden's cases, and made machines with agree's situations."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
GOLDEN = os.path.join(HERE, "../golden")
sys.path.insert(0, GOLDEN)
from golden import has_dump, unpack  # noqa: E402
from host import Host  # noqa: E402
from machine import Machine  # noqa: E402
from situations import SITUATIONS, Situation  # noqa: E402

TRACED = "trace=openat,openat2,readlinkat"
MADE = ["epyc8", "epyc8-4disks", "epyc8-nics", "kunpeng-nics", "xeon2", "small2s", "unequal"]


def put_policies(work, texts):
    folder = os.path.join(work, "policies")
    os.mkdir(folder, 0o755)
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f.name, 0o644)


def dumped(machine, case, work):
    folder = os.path.join(GOLDEN, "cases", machine, case)
    Host(os.path.join(folder, "host.json")).put_on(unpack(machine, work))
    given, texts = os.path.join(folder, "policies"), {}
    for name in sorted(os.listdir(given)) if os.path.isdir(given) else []:
        with open(os.path.join(given, name), encoding="utf-8") as f:
            texts[name] = f.read()
    put_policies(work, texts)


def made(machine, situation, work):
    s = Situation()
    situation(s)
    s.put_on(Machine(os.path.join(GOLDEN, "plans", machine, "machine.json")).build(os.path.join(work, "machine")))
    put_policies(work, {"p.yaml": s.policy})


def choose(rng):
    """(name, function that builds it in a folder)"""
    dumps = [m for m in sorted(os.listdir(os.path.join(GOLDEN, "cases"))) if has_dump(m)]
    if dumps and rng.random() < 0.4:
        machine = rng.choice(dumps)
        case = rng.choice(sorted(os.listdir(os.path.join(GOLDEN, "cases", machine))))
        return "%s/%s" % (machine, case), lambda work: dumped(machine, case, work)
    machine, situation = rng.choice(MADE[:1] * 4 + MADE), rng.choice(SITUATIONS)
    return "%s/%s" % (machine, situation.__name__), lambda work: made(machine, situation, work)


def what_it_reads(command, work, environment):
    """The files, folders and links of the tree that the program opens; what it never looks at is not worth a change."""
    log = os.path.join(work, "trace")
    options = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # which cannot be traced
    paths = set()
    if shutil.which("strace"):
        subprocess.run(["strace", "-f", "-y", "-qq", "-s", "4096", "-e", TRACED, "-o", log, *command], cwd=work,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                       env={**environment, "ASAN_OPTIONS": options})
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            for line in f:
                opened = re.search(r" = \d+<(.*)>$", line)
                link = re.search(r"readlinkat\(\d+<(.*?)>, \"(.*?)\", .* = \d+$", line)
                if opened or link:
                    paths.add(opened[1] if opened else os.path.join(link[1], link[2]))
        os.unlink(log)
    inside = [os.path.join(work, name) + os.sep for name in ("machine", "policies")]
    paths = sorted(path for path in paths if path.startswith(tuple(inside)) and os.path.lexists(path))
    return paths or sorted(os.path.join(folder, name) for top in inside for folder, folders, files in os.walk(top)
                           for name in folders + files)
