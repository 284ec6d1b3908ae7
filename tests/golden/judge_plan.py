"""Do the field's rules hold in a plan? Worked out from its JSON alone, in the simplest way, by code of its own.

Only what holds whatever the policies say: that a node is empty is seen, that a policy avoids it is not. A case whose
policy forbids the empty nodes says so by a line `judge: narrow` in its args.
"""
import json
from collections import Counter


def members(text):
    numbers = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def rules(instance):
    return {warning["rule"] for warning in instance["warnings"]}


class Plan:
    def __init__(self, plan):
        self.nodes = {node["id"]: node for node in plan["nodes"]}
        self.instances = plan["instances"]
        self.reserved = members(plan["reserved_nodes"])
        self.homes = {n for n, node in self.nodes.items() if node["memory_bytes"] != 0 and node["cpus"]}
        self.at = {n: [i for i in self.instances if n in members(i["nodes"])] for n in self.nodes}

    def empty(self):
        return {n for n in self.homes - self.reserved if not self.at[n]}

    def packages(self, instance):
        """A node in an unknown socket is in the socket of no other."""
        unknown = lambda n: "of node %d" % n
        return {unknown(n) if self.nodes[n]["package"] is None else self.nodes[n]["package"] for n in members(instance["nodes"])}


def hard(plan):
    for i in plan.instances:
        nodes = members(i["nodes"])
        if (i["basis"] == "refused") != (not nodes):
            yield "%s: basis %s, nodes '%s'" % (i["name"], i["basis"], i["nodes"])
        if i["basis"] == "chosen" and not nodes <= plan.homes:
            yield "%s is on %s, of which some have no CPUs or no memory" % (i["name"], i["nodes"])
        cpus = set().union(*(members(plan.nodes[n]["cpus"]) for n in nodes)) if nodes else set()
        if not members(i["cpus"]) <= cpus or (nodes and not i["cpus"]):
            yield "%s has CPUs %s, its nodes have %s" % (i["name"], i["cpus"], sorted(cpus))
        if i["basis"] == "refused" and not i["refusal"]:
            yield "%s is refused without a reason" % i["name"]
    for n, node in plan.nodes.items():
        if sorted(node["instances"]) != sorted(i["name"] for i in plan.at[n]):
            yield "node %d: lists %s" % (n, node["instances"])


def told(plan):
    for i in plan.instances:
        if (members(i["nodes"]) & plan.reserved != set()) != ("R2" in rules(i)):
            yield "%s on %s, reserved are %s: warnings %s" % (i["name"], i["nodes"], sorted(plan.reserved), sorted(rules(i)))
        devices = members(i["device_nodes"])
        if devices and i["basis"] == "chosen" and not members(i["nodes"]) & devices and "R4" not in rules(i):
            yield "%s is away from its device's node %s, and no R4 is told" % (i["name"], i["device_nodes"])


def weighed(plan):
    empty = plan.empty()
    for n in plan.nodes:
        free_to_choose = [i for i in plan.at[n] if i["basis"] == "chosen" and n not in members(i["device_nodes"])]
        for policy, number in Counter(i["policy"] for i in free_to_choose).items():
            if number > 1 and empty:
                yield "%d instances of %s on node %d, while %s are empty" % (number, policy, n, sorted(empty))
        if n in plan.reserved and empty and free_to_choose:
            yield "%s on the reserved node %d, while %s are empty" % (free_to_choose[0]["name"], n, sorted(empty))
    for i in plan.instances:
        if i["basis"] == "chosen" and len(plan.packages(i)) > 1:
            yield "%s is on several sockets: nodes %s" % (i["name"], i["nodes"])


def interrupts(plan, part):
    """Queues in pairs, and no CPU of an instance where it is not told."""
    owned = set().union(*(members(i["cpus"]) for i in plan.instances if i["basis"] != "refused"), set())
    for device in (part.get("interrupts") or {"devices": []})["devices"]:
        by_queue = {}
        for vector in device["vectors"]:
            if vector["decision"] != "steered":
                continue
            cpus = members(vector["cpus"])
            if not cpus or not cpus <= set(device["cpus"]):
                yield "%s: interrupt %d to CPUs '%s'" % (device["name"], vector["irq"], vector["cpus"])
            if cpus & owned and device["reason"] not in ("listed", "shared", "owned"):
                yield "%s: interrupt %d on an instance's CPU" % (device["name"], vector["irq"])
            if vector["queue"] is not None and by_queue.setdefault(vector["queue"], cpus) != cpus:
                yield "%s: queue %d is on two CPUs" % (device["name"], vector["queue"])
        if device["reason"] == "local" and not set(device["cpus"]) <= members(plan.nodes[device["node"]]["cpus"]):
            yield "%s: local, and on CPUs %s" % (device["name"], device["cpus"])


def judge_plan(text, narrow=False):
    try:
        parts = json.loads(text)
        parts = [parts["before"], parts["after"]] if "before" in parts else [parts]
        plans = [Plan(part) for part in parts]
    except (ValueError, KeyError) as error:
        return ["no such JSON: %r in\n%s" % (error, text[:1000])]
    return [problem for plan, part in zip(plans, parts) for problem in (
        *hard(plan), *told(plan), *interrupts(plan, part), *([] if narrow else weighed(plan)))]
