"""States in which a daemon may have its instances, and what plan, explain, status and check must then say of each: the same.

The host is that of screen_host.py. Each state is a function that changes what the daemon publishes, mostly to what a plan that is made anew
would not be: the daemon's plan is that which counts. A number says of which servers the kernel has the binding: "bound" or "unbound".
"""
import json
import os
import re
import subprocess

import screen_host as host
from situations import node_cpus

KEYS = ("policy", "unit", "pid", "nodes", "cpus", "memory_mode", "basis", "warnings", "state", "cpu_bound", "memory_bound")
NIC_NODE, DISK_NODES = 0, {"tikv-20160": 3, "tikv-20161": 6}
NOT_EXCLUSIVE = {"rule": "R3", "text": "it is exclusive but shares a node with another exclusive instance: there are too few nodes, or "
                                       "their devices are on the same node"}


class Status:
    def __init__(self, kernel):
        self.all = host.published(kernel == "bound")
        self.rows = {row["name"]: row for row in self.all["instances"]}

    def put(self, name, node, **more):
        self.rows[name].update(nodes=str(node), cpus=node_cpus(node), **more)

    def no_place(self, name, **more):
        self.rows[name].update(nodes="", cpus="", cpu_bound=False, memory_bound=False, **more)


def observe(s):
    """As a plan that is made anew would not have it: haproxy and PD are elsewhere."""
    s.all["enforcing"] = False
    s.put("haproxy", 7)
    s.put("pd-2379", 2)


def paused(s):
    """Bound, and then the plan became another one."""
    s.all["enforcing"] = False
    s.put("tidb-4000", 5, state="planned", reason="would set AllowedCPUs=" + node_cpus(5), reason_code="observe", cpu_bound=False,
          memory_bound=False)


def released(s):
    s.no_place("tikv-20160", state="released", reason="released on request; original binding restored, monitoring only",
               reason_code="released", basis="chosen")


def widened(s):
    s.rows["tidb-4000"].update(state="widened", memory_bound=False, reason_code="node-full", memory_widened=True,
                               reason="its nodes are nearly full, so memory of other nodes is open to it")


def contested(s):
    s.rows["tikv-20160"].update(state="partly", cpu_bound=False, reason_code="contested", reason="something else keeps changing its CPUs")


def refused(s):
    """It has a place, and cannot be bound there."""
    s.put("tidb-4000", 7, state="refused", reason="its unit is not loaded", reason_code="unit-gone", cpu_bound=False, memory_bound=False)


def refused_a_place(s):
    s.no_place("pd-2379", state="watched", basis="refused", reason_code=None,
               reason="a cpuset partition has taken the CPUs of its nodes; nothing else may run on them: name other nodes")


def partly(s):
    s.rows["tidb-4001"].update(state="partly", cpu_bound=True, memory_bound=False, reason_code="pages-stay",
                               reason="some of its memory does not move")


def waiting(s):
    """It has just started, and the plan does not have it yet."""
    s.no_place("haproxy", state="waiting", basis="refused", reason="", reason_code=None)


def being_bound(s):
    """The daemon has begun: the kernel shows nothing of it yet."""
    s.all["enforcing"] = True
    for row in s.rows.values():
        row.update(state="binding", reason="")
    s.put("tidb-4000", 7)


def moving_elsewhere(s):
    """The kernel still has it on its former node."""
    s.put("tikv-20161", 4, state="binding", reason="", cpu_bound=False, warnings=[{"rule": "R4", "text": "it is not on the node of its "
                                                                                                        "device"}])


def prepared_unit(s):
    s.all["units"] = [{"name": "tidb-4002.service", "policy": "tidb", "state": "prepared", "reason": "", "reason_code": None, "remedy": None,
                       "nodes": "7", "cpus": node_cpus(7), "memory_nodes": "7"}]


def unit_that_cannot_start(s):
    s.all["units"] = [{"name": "tidb-4002.service", "policy": "tidb", "state": "idle", "reason": "its CPUAffinity= leaves none of its place",
                       "reason_code": "start-limits", "remedy": "remove it", "nodes": "", "cpus": "", "memory_nodes": ""}]


def two_on_one_node(s):
    """Of an earlier time, when there were fewer nodes."""
    s.put("tidb-4001", 1, state="planned", reason="would set AllowedCPUs=" + node_cpus(1), cpu_bound=False, memory_bound=False,
          warnings=[NOT_EXCLUSIVE])


def on_the_reserved_node(s):
    s.put("haproxy", 0, state="bound", reason="", basis="kept")


def kept_by_affinity(s):
    s.rows["pd-2379"].update(bound_by="affinity", bound_by_reason="its unit is shared", basis="kept")


# The state, and where the kernel has the servers.
STATES = [(observe, "unbound"), (paused, "bound"), (released, "bound"), (widened, "bound"), (contested, "bound"), (refused, "bound"),
          (refused_a_place, "bound"), (partly, "bound"), (waiting, "bound"), (being_bound, "unbound"), (moving_elsewhere, "bound"),
          (prepared_unit, "bound"), (unit_that_cannot_start, "bound"), (two_on_one_node, "bound"), (on_the_reserved_node, "bound"),
          (kept_by_affinity, "bound")]


# --- asking -----------------------------------------------------------------------------------------------------------------

def ask(program, *words):
    done = subprocess.run([program, *words], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=60, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "COLUMNS": "250"})
    return done.stdout.decode()


def ask_json(program, *words):
    return json.loads(ask(program, words[0], "--json", *words[1:]) or "null")


def differences(who, name, row, told):
    """`row`: as it is published; `told`: by an answer about the plan."""
    for key in KEYS:
        if told[key] != row[key]:
            yield "%s: %s of %s is %s, the daemon has %s" % (who, key, name, told[key], row[key])
    if told["state_reason"] != row["reason"]:
        yield "%s: the reason of %s is '%s', the daemon has '%s'" % (who, name, told["state_reason"], row["reason"])
    if told["bound_by"] != row["bound_by"] or told["bound_by_reason"] != row["bound_by_reason"]:
        yield "%s: %s is bound by %s, the daemon has %s" % (who, name, told["bound_by"], row["bound_by"])
    if "bound there" in told["why"] and not row["cpu_bound"]:
        yield "%s: %s is not bound, and it says: %s" % (who, name, told["why"])
    if not row["nodes"] and row["reason"] and told["why"] != row["reason"]:
        yield "%s: %s has no place because '%s', the daemon has '%s'" % (who, name, told["why"], row["reason"])


def judge_plan(program, rows):
    """The answers of plan, as JSON and as text."""
    plan, text = ask_json(program, "plan"), ask(program, "plan")
    told = {i["name"]: i for i in plan["instances"]}
    if told.keys() != rows.keys():
        yield "plan: it has %s" % sorted(told)
        return
    for name, row in rows.items():
        yield from differences("plan", name, row, told[name])
        line = re.search(r"(?m)^%s +\S+ +(\S+) " % re.escape(name), text)  # now, to
        if not line or line[1] != (row["nodes"] or "-"):
            yield "plan: the table has %s on %s, the daemon on %s" % (name, line and line[1], row["nodes"])
        below = re.search(r"(?m)^  (?:\S+, )*%s(?:, [^,: ]+)*: (.*)" % re.escape(name), text)
        listed = row["basis"] != "refused" and row["state"] != "bound"
        if bool(below) != listed or below and (not below[1].startswith(row["state"]) or row["reason"] not in below[1]):
            yield "plan: below the table stands of %s: %s" % (name, below and below[0])
    for change in plan["changes"]:
        if change["to"] != rows[change["name"]]["nodes"]:
            yield "plan: %s is to move to %s, the daemon has it on %s" % (change["name"], change["to"], rows[change["name"]]["nodes"])
    for node in plan["nodes"]:
        there = sorted(name for name, row in rows.items() if row["nodes"] == str(node["id"]))
        if sorted(node["instances"]) != there:
            yield "plan: node %d has %s, by the daemon %s" % (node["id"], node["instances"], there)
    for name, row in rows.items():
        explained = ask_json(program, "explain", name)["instance"]
        yield from differences("explain", name, row, explained)
        if explained["why"] != told[name]["why"]:
            yield "explain: %s is there for '%s', by plan for '%s'" % (name, explained["why"], told[name]["why"])


def judge_status(program, status):
    told = ask_json(program, "status")
    for kind in "instances", "units":
        if told[kind] != status[kind]:
            yield "status: the %s are others than the daemon publishes" % kind
    text = ask(program, "status")
    for row in status["instances"]:
        line = re.search(r"(?m)^%s +(\S+) +(\S+) " % re.escape(row["name"]), text)
        if not line or line.groups() != (row["state"], row["nodes"] or "-"):
            yield "status: the table has %s as %s" % (row["name"], line and line.groups())
    for unit in status["units"]:
        told = ask_json(program, "explain", unit["name"])["unit"]
        if told != unit:
            yield "explain: %s is %s, the daemon has %s" % (unit["name"], told, unit)


def judge_check(program, status, rows):
    """What check makes of the places: by the rules of the network card's node and of the disks, and of units that do not start."""
    findings = ask_json(program, "check")["findings"]
    wrong_disk = {name for name, node in DISK_NODES.items() if rows[name]["nodes"] not in ("", str(node))}
    wanted = {"nic-node": {name for name, row in rows.items() if row["nodes"] == str(NIC_NODE)}, "storage-node": wrong_disk,
              "start": {unit["name"] for unit in status["units"] if unit["reason_code"]},
              "bound-by-hand": set()}  # wherever they are, the daemon has put them there
    for rule, names in wanted.items():
        found = {f["found"].split(" ")[0] for f in findings if f["rule"] == rule}
        if found != names:
            yield "check: by the rule %s it names %s, by the daemon's places %s" % (rule, sorted(found), sorted(names))


def judge(tap, program, work, state, kernel):
    s = Status(kernel)
    host.be(work, kernel)
    state(s)
    host.publish(s.all)
    problems = list(judge_plan(program, s.rows)) + list(judge_status(program, s.all)) + list(judge_check(program, s.all, s.rows))
    tap.case("with a daemon: " + state.__name__.replace("_", " "), problems)


def judge_all(tap, program, work, only):
    """In namespaces of its own, see screen_host.py."""
    host.start_processes()
    host.take_over(work)
    host.policy(host.POLICY)
    for state, kernel in STATES:
        if only in ("", state.__name__):
            judge(tap, program, work, state, kernel)
