"""What the runners of this folder share: TAP, expected files, and the dumps."""
import difflib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
DUMPS = os.environ.get("TIDBNUMAD_TOPOLOGIES") or os.path.normpath(os.path.join(HERE, "../../../shared/topologies"))
TIMEOUT_SECONDS = 60
MEMORY = "/dev/shm"
MEMORY_WANTED = 512 << 20  # several machines side by side; the shm of a container may be smaller


WIDTH = 150


def compact(value, depth=0):
    """JSON that fills its lines, so that a diff is short and shows the thing that changed."""
    flat = json.dumps(value, ensure_ascii=False)
    if depth > 0 and len(flat) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return flat
    pad, lines = "  " * (depth + 1), [""]
    is_dict = isinstance(value, dict)
    for item in value.items() if is_dict else value:
        text = "%s: %s" % (json.dumps(item[0]), compact(item[1], depth + 1)) if is_dict else compact(item, depth + 1)
        if not is_dict or "\n" in lines[-1] + text or len(lines[-1] + text) > WIDTH:
            lines.append(text)
        else:
            lines[-1] += ", " + text if lines[-1] else text
    opening, closing = "{}" if is_dict else "[]"
    return "%s\n%s%s\n%s%s" % (opening, pad, (",\n" + pad).join(filter(None, lines)), "  " * depth, closing)


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def case(self, name, problems):
        self.n += 1
        self.bad += bool(problems)
        print("%sok %d - %s" % ("not " if problems else "", self.n, name))
        for line in "\n".join(problems).splitlines():
            print("# " + line)
        sys.stdout.flush()

    def skip(self, name, why):
        self.n += 1
        print("ok %d - %s # SKIP %s" % (self.n, name, why))


def compare(case_dir, files):
    for name, found in files.items():
        path = os.path.join(case_dir, "expected", name)
        expected = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                expected = f.read()
        yield from (line.rstrip("\n") for line in difflib.unified_diff(
            expected.splitlines(True), found.splitlines(True), "expected/" + name, "found/" + name, n=2))


def accept(case_dir, files):
    os.makedirs(os.path.join(case_dir, "expected"), exist_ok=True)
    for name, found in files.items():
        with open(os.path.join(case_dir, "expected", name), "w", encoding="utf-8") as f:
            f.write(found)


def scratch(name):
    """A folder for as long as the `with`. A machine is ten thousand small files: seconds on a disk, nothing in memory."""
    room = os.statvfs(MEMORY) if os.access(MEMORY, os.W_OK) else None
    in_memory = "TMPDIR" not in os.environ and room and room.f_bavail * room.f_frsize >= MEMORY_WANTED
    return tempfile.TemporaryDirectory(prefix="tidbnumad-%s." % name, dir=MEMORY if in_memory else None)


def has_dump(machine):
    return os.path.exists(os.path.join(DUMPS, machine + ".tar.bz2"))


def why_no_dump(machine):
    return "no %s.tar.bz2 in %s (TIDBNUMAD_TOPOLOGIES)" % (machine, DUMPS)


def unpack(machine, work):
    """The dump's one folder becomes `machine`. Only proc and sys are wanted."""
    subprocess.run(["tar", "-xjf", os.path.join(DUMPS, machine + ".tar.bz2"), "-C", work, "--strip-components=1",
                    "--one-top-level=machine", "--no-same-owner", "--no-same-permissions"], check=True)
    return os.path.join(work, "machine")
