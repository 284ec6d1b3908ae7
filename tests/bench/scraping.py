"""One scrape: of our exporter with 64 instances on 16 nodes, each of a new snapshot, and of node_exporter on this host."""
import http.client
import os
import socket
import statistics
import subprocess
import time

from contenders import Unavailable

SCRAPES = 50


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def fetch(connect):
    """(milliseconds, bytes), connecting included, as a scraper has it after a pause."""
    begin = time.monotonic()
    connection = connect()
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    size = len(answer.read())
    took = (time.monotonic() - begin) * 1e3
    connection.close()
    if answer.status != 200:
        raise Unavailable("status %d" % answer.status)
    return took, size


def wait_for(connect):
    for _ in range(500):
        try:
            return fetch(connect)
        except OSError:
            time.sleep(0.02)
    raise Unavailable("nobody answers")


def median(connect, before=lambda: None):
    took, size = [], 0
    for _ in range(SCRAPES):
        before()
        one, size = fetch(connect)
        took.append(one)
    return statistics.median(took), size


def ours(build, folder):
    """(milliseconds, bytes)"""
    run = os.path.join(folder, "scraped")
    os.makedirs(run, exist_ok=True)
    metrics = subprocess.run([os.path.join(build, "tests/bench/bench-render"), "print"], stdout=subprocess.PIPE,
                             check=True).stdout
    path, sock = os.path.join(run, "metrics.prom"), os.path.join(run, "s")

    def publish():
        with open(path + ".new", "wb") as f:
            f.write(metrics)
        os.rename(path + ".new", path)

    publish()
    exporter = subprocess.Popen([os.path.join(build, "src/exporter/tidbnumad-exporter"), "--runtime-dir", run,
                                 "--listen", "unix:" + sock])
    try:
        wait_for(lambda: UnixConnection(sock))
        return median(lambda: UnixConnection(sock), publish)
    finally:
        exporter.terminate()
        exporter.wait()


def node_exporter(unpacked):
    """((milliseconds, bytes), None), or (None, why)."""
    roots = ["/"] + ([unpacked, os.path.join(os.path.dirname(unpacked), "scrapers")] if unpacked else [])
    program = next((path for path in (os.path.join(root, "usr/bin/prometheus-node-exporter") for root in roots)
                    if os.access(path, os.X_OK)), None)
    if not program:
        return None, "not installed"
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = subprocess.Popen([program, "--web.listen-address=127.0.0.1:%d" % port], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)

    def connect():
        return http.client.HTTPConnection("127.0.0.1", port)

    try:
        wait_for(connect)
        return median(connect), None
    except Unavailable as why:
        return None, str(why)
    finally:
        process.terminate()
        process.wait()
