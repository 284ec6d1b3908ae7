"""Changes a tree of /proc and /sys at random, and takes the changes back."""
import os
import re
import shutil

SIZE_MAX = 1 << 20
NUMBERS = [b"0", b"1", b"-1", b"63", b"64", b"1023", b"1024", b"4095", b"4096", b"65535", b"2147483647", b"2147483648",
           b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615",
           b"18446744073709551616", b"99999999999999999999999", b"1e309", b"0x10", b"007", b"+3", b" 5", b"max", b"nan", b""]
CONTENTS = [b"", b"\n", b"\0", b"\0" * 4096, b"\n" * 5000, b" " * 9000, b"0-4095\n", b"4095-0\n", b"0-4294967295\n", b"0,0,0,0\n",
            b"0-1023:2/4\n", b"-1\n", b"ffffffff," * 200 + b"ffffffff\n", b"\xff\xfe\x80\n", b"a" * 70000, b"N0=1 " * 3000 + b"\n",
            b"\x1b[31m\x07\n", b"(unreachable)\n", b"..\n", b"1.5\n", b"18446744073709551616\n"]
NAMES = ["node1023", "node1024", "node-1", "node99999999999999999999", "cpu4095", "cpu4096", "cpu", "0", "1", "2147483647",
         "4194305", "99999999999", "rx-99999", "x" * 250, "a b\n\tc", "\x1b[31m", "..x", "eth0:1", "nvme0n1p1", "irq"]
TARGETS = [".", "..", "/", "/nonexistent", "self", "x" * 3000, "/srv/bin/tidb-server (deleted)", "/a\nb\tc\x1b[0m/tikv-server",
           "../../../../../../../../../..", "socket:[18446744073709551616]"]


def a_number(rng, data):
    found = [m.span() for m in re.finditer(rb"[0-9]+", data[:200000])]
    if not found:
        return rng.choice(CONTENTS)
    begin, end = rng.choice(found)
    return data[:begin] + rng.choice(NUMBERS) + data[end:]


def a_line(rng, data):
    lines = data.splitlines(True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines[i:i] = [lines[j]] * rng.choice((1, 2, 100, 5000))
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] = lines[i].rstrip(b"\n") + lines[j]
    return b"".join(lines)


def a_word(rng, data):
    words = re.split(rb"(\s+)", data[:200000])
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    words[i] = rng.choice((b"", words[j], words[i] * 2, words[i] + words[j]))
    return b"".join(words)


def some_bytes(rng, data):
    at = rng.randrange(len(data) + 1)
    return rng.choice((data[:at], data[at:], data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:],
                       data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]))


CHANGES = (a_number, a_number, a_number, a_line, a_line, a_word, a_word, some_bytes, lambda rng, _: rng.choice(CONTENTS))


class Mutation:
    """A `with` in which some of `paths` are others. `log` has a line for each change."""

    def __init__(self, rng, paths, aside):
        self.rng, self.paths, self.aside = rng, paths, aside
        self.log, self.undo = [], []

    def __enter__(self):
        os.makedirs(self.aside, exist_ok=True)
        for _ in range(self.rng.choice((1, 1, 2, 3, 6))):
            path = self.rng.choice(self.paths)
            # What an earlier change has taken away, or made a link that leads anywhere, is left.
            if os.path.lexists(path) and os.path.realpath(os.path.dirname(path)) == os.path.dirname(path):
                self.change(path)
        return self

    def __exit__(self, *problem):
        for path, kept in reversed(self.undo):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            if kept:
                os.rename(kept, path)

    def change(self, path):
        if os.path.islink(path):
            self.link(path, self.rng.choice(TARGETS + [os.path.basename(path)]))
        elif os.path.isdir(path):
            self.rng.choice((self.without, self.without_content, self.with_entry, self.with_entry, self.as_file))(path)
        elif self.rng.random() < 0.85:
            self.content(path)
        else:
            self.rng.choice((self.without, self.as_folder, lambda p: self.link(p, self.rng.choice(TARGETS)), self.exchanged))(path)

    def take(self, path, what):
        """Lays the original aside."""
        kept = os.path.join(self.aside, "%d" % len(self.undo))
        os.rename(path, kept)
        self.undo.append((path, kept))
        self.log.append("%s: %s" % (path, what))
        return kept

    def content(self, path):
        with open(path, "rb") as f:
            data = f.read()
        change = self.rng.choice(CHANGES)
        changed = change(self.rng, data)[:SIZE_MAX]
        self.take(path, change.__name__.strip("<>"))
        self.write(path, changed)

    def exchanged(self, path):
        """What another file has."""
        other = self.rng.choice(self.paths)
        if os.path.isfile(other) and not os.path.islink(other):
            with open(other, "rb") as f:
                data = f.read()
            self.take(path, "has what %s has" % other)
            self.write(path, data)

    def without(self, path):
        self.take(path, "is gone")

    def without_content(self, path):
        self.take(path, "is empty")
        os.mkdir(path)

    def as_file(self, path):
        self.take(path, "is a file")
        self.write(path, b"1\n")

    def as_folder(self, path):
        self.take(path, "is a folder")
        os.mkdir(path)

    def link(self, path, target):
        self.take(path, "is a link to %r" % target)
        os.symlink(target, path)

    def with_entry(self, path):
        """One more entry, a copy of one that is there, by a name that is like the others' or not."""
        entries = os.listdir(path)
        if not entries:
            return
        source = self.rng.choice(sorted(entries))
        name = self.rng.choice(NAMES + [re.sub("[0-9]+", str(self.rng.randrange(5000)), source, count=1)])
        new = os.path.join(path, name)
        if os.path.lexists(new):
            return
        self.undo.append((new, None))
        self.log.append("%s: is there like %s" % (new, source))
        source = os.path.join(path, source)
        if os.path.islink(source):
            os.symlink(os.readlink(source), new)
        elif os.path.isdir(source):
            shutil.copytree(source, new, symlinks=True)
        else:
            shutil.copyfile(source, new)

    @staticmethod
    def write(path, data):
        with open(path, "wb") as f:
            f.write(data)
