"""A FUSE mount whose server never answers, by hand: no library, and no daemon of its own.

It answers what it must for a file to be opened and mapped. Whoever looks up a name that begins with
`silent`, or reads the file `mapped`, waits until the mount is taken away, SIGKILL or not. The file `written` can be read; who
writes it back waits. A program that it serves can be executed; once it is `silent`, nothing is answered, and nothing of that
program is cached but its pages.
"""
import ctypes
import errno
import os
import stat
import struct
import threading
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, GETXATTR, INIT, FLUSH, RELEASE, BATCH_FORGET = 1, 2, 3, 14, 15, 22, 26, 25, 18, 42
ROOT, MAPPED, PROGRAM, WRITTEN = 1, 2, 3, 4
MNT_FORCE, MNT_DETACH = 1, 2
FILES = {b"mapped\0": MAPPED, b"written\0": WRITTEN}

libc = ctypes.CDLL(None, use_errno=True)


def missing():
    """Why it cannot be had here, or None."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse here"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as problem:
        return "/dev/fuse: %s" % problem.strerror
    return None


def attributes(node, size=4096):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | ({PROGRAM: 0o755, WRITTEN: 0o666}.get(node, 0o644))
    return struct.pack("=QQQQQQIIIIIIIIII", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class SilentMount:
    """In a `with`. `asked` counts the requests that are left without an answer."""

    def __init__(self, path, program=None):
        self.path, self.asked, self.silent = path, 0, False
        self.name, self.bytes = "", b""
        if program:
            self.name = os.path.basename(program)
            with open(program, "rb") as f:
                self.bytes = f.read()

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.fd
        if libc.mount(b"silent", self.path.encode(), b"fuse", 0, options.encode()) < 0:
            number = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(number, "mount of FUSE: " + os.strerror(number))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *problem):
        libc.umount2(self.path.encode(), MNT_FORCE)
        libc.umount2(self.path.encode(), MNT_DETACH)
        self.thread.join(timeout=10)
        os.close(self.fd)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError as problem:
                if problem.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # ENODEV: it is unmounted
            _, opcode, unique, node = struct.unpack_from("=IIQQ", request)
            body = self.answer(opcode, node, request[40:])
            if body is not None:
                try:
                    if isinstance(body, int):
                        os.write(self.fd, struct.pack("=IiQ", 16, -body, unique))
                    else:
                        os.write(self.fd, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
                except OSError:
                    pass

    def answer_program(self, opcode, body):
        if opcode == GETATTR:
            return struct.pack("=QII", 0, 0, 0) + attributes(PROGRAM, len(self.bytes))
        if opcode == READ:
            _, offset, size = struct.unpack_from("=QQI", body)
            return self.bytes[offset:offset + size]
        return errno.ENOSYS

    def answer(self, opcode, node, body):
        """The answer, the number of an error, or None for no answer at all."""
        if self.silent and opcode not in (FORGET, BATCH_FORGET, FLUSH, RELEASE):
            self.asked += 1
            return None
        if opcode == LOOKUP and self.name and body == self.name.encode() + b"\0":
            return struct.pack("=QQQQII", PROGRAM, 0, 0, 0, 0, 0) + attributes(PROGRAM, len(self.bytes))
        if node == PROGRAM and opcode in (GETATTR, READ, GETXATTR):
            return self.answer_program(opcode, body)
        if opcode == INIT:
            major, minor, ahead = struct.unpack_from("=III", body)
            return struct.pack("=IIIIHHIIHHI7I", 7, min(minor, 31), ahead, 0, 12, 9, 65536, 1, 1, 0, *[0] * 8)
        if opcode == GETATTR:
            return struct.pack("=QII", 3600, 0, 0) + attributes(node)
        if opcode == LOOKUP and body in FILES:
            return struct.pack("=QQQQII", FILES[body], 0, 3600, 3600, 0, 0) + attributes(FILES[body])
        if opcode == READ and node == WRITTEN:
            return bytes(4096)
        if opcode == OPEN:
            return struct.pack("=QII", 1, 0, 0)
        if opcode in (FLUSH, RELEASE):
            return b""
        if opcode not in (FORGET, BATCH_FORGET):
            self.asked += 1
        return None


def wait_until_asked(mount, seconds):
    end = time.monotonic() + seconds
    while not mount.asked and time.monotonic() < end:
        time.sleep(0.02)
    return mount.asked
