"""Both ends of the daemon's control socket, byte by byte and without libsystemd: a client that may do what it should not, and a
stand-in for the daemon. D-Bus Specification, Authentication Protocol and Message Format."""
import os
import socket
import struct

PATH, INTERFACE = "/org/tidbnumad/Manager", "org.tidbnumad.Manager1"
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
FIELD_PATH, FIELD_INTERFACE, FIELD_MEMBER, FIELD_ERROR, FIELD_REPLY, FIELD_SIGNATURE = 1, 2, 3, 4, 5, 8


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


def string(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def strings(words):
    body = b""
    for word in words:
        body = pad(body, 4) + string(word)
    return struct.pack("<I", len(body)) + body


def message(kind, serial, fields, body=b"", flags=0):
    """`fields`: number → (type, value)."""
    array = b""
    for number, (kind_of, value) in fields.items():
        array = pad(array, 8) + struct.pack("<B", number) + bytes([1]) + kind_of.encode() + b"\0"
        if kind_of in "so":
            array = pad(array, 4) + string(value)
        elif kind_of == "g":
            array += bytes([len(value)]) + value.encode() + b"\0"
        else:
            array = pad(array, 4) + struct.pack("<I", value)
    head = struct.pack("<BBBBIII", ord("l"), kind, flags, 1, len(body), serial, len(array))
    return pad(head + array, 8) + body


def call(member, signature="", body=b"", serial=1):
    fields = {FIELD_PATH: ("o", PATH), FIELD_INTERFACE: ("s", INTERFACE), FIELD_MEMBER: ("s", member)}
    if signature:
        fields[FIELD_SIGNATURE] = ("g", signature)
    return message(CALL, serial, fields, body)


def call_of_names(member, names, wait=None):
    body = strings(names)
    if wait is None:
        return call(member, "as", body)
    return call(member, "asb", pad(body, 4) + struct.pack("<I", wait))


def receive(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(n - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def read_string(data, at):
    at += -at % 4
    n = struct.unpack_from("<I", data, at)[0]
    return data[at + 4:at + 4 + n].decode(), at + 5 + n


def read_message(sock):
    """Its kind, serial, fields and body."""
    head = receive(sock, 16)
    _, kind, _, _, n_body, serial, n_fields = struct.unpack("<BBBBIII", head)
    array = receive(sock, n_fields + -n_fields % 8)[:n_fields]
    body = receive(sock, n_body)
    fields, at = {}, 0
    while at < len(array):
        at += -at % 8
        number, kind_of = array[at], chr(array[at + 2])
        at += 4
        if kind_of in "so":
            value, at = read_string(array, at)
        elif kind_of == "g":
            value, at = array[at + 1:at + 1 + array[at]].decode(), at + 2 + array[at]
        else:
            at += -at % 4
            value, at = struct.unpack_from("<I", array, at)[0], at + 4
        fields[number] = value
    return kind, serial, fields, body


def read_strings(body):
    n, at, words = struct.unpack_from("<I", body)[0] + 4, 4, []
    while at < n:
        word, at = read_string(body, at)
        words.append(word)
    return words


def connect(folder, timeout=60):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    sock.connect(os.path.join(folder, "control"))
    return sock


def greet(sock, uid=None):
    """The client's half of the authentication."""
    sock.sendall(b"\0AUTH EXTERNAL %s\r\n" % str(os.getuid() if uid is None else uid).encode().hex().encode())
    answer = read_line(sock)
    if not answer.startswith(b"OK "):
        raise EOFError(answer)
    sock.sendall(b"BEGIN\r\n")


def read_line(sock):
    line = b""
    while not line.endswith(b"\r\n"):
        line += receive(sock, 1)
    return line[:-2]


def ask(sock, request):
    """The answer to a call: its lines, or the name of the error and its sentence."""
    sock.sendall(request)
    while True:
        kind, _, fields, body = read_message(sock)
        if kind == RETURN:
            return read_strings(body) if body else []
        if kind == ERROR:
            return fields[FIELD_ERROR], read_string(body, 0)[0] if body else ""


# --- the daemon's end -------------------------------------------------------------------------------------------------------

def accept_client(sock):
    receive(sock, 1)
    while True:
        line = read_line(sock)
        if line == b"BEGIN":
            return
        if line.startswith(b"AUTH EXTERNAL") and len(line) == 13:
            sock.sendall(b"DATA\r\n")
        elif line.startswith((b"AUTH EXTERNAL", b"DATA")):
            sock.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        elif line == b"NEGOTIATE_UNIX_FD":
            sock.sendall(b"AGREE_UNIX_FD\r\n")
        else:
            sock.sendall(b"ERROR\r\n")


def serve(listener, handler):
    """For ever: answers each call with what handler(member, names) returns, lines or (error, sentence)."""
    while True:
        sock, _ = listener.accept()
        try:
            accept_client(sock)
            while True:
                kind, serial, fields, body = read_message(sock)
                if kind != CALL:
                    continue
                answer = handler(fields[FIELD_MEMBER], read_strings(body) if body else [])
                reply = {FIELD_REPLY: ("u", serial)}
                if isinstance(answer, tuple):
                    reply.update({FIELD_ERROR: ("s", answer[0]), FIELD_SIGNATURE: ("g", "s")})
                    sock.sendall(message(ERROR, 1, reply, string(answer[1])))
                else:
                    reply[FIELD_SIGNATURE] = ("g", "as")
                    sock.sendall(message(RETURN, 1, reply, strings(answer)))
        except OSError:
            pass
        except EOFError:
            pass
        sock.close()
