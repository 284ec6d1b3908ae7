"""The dashboard's queries, filled in as Grafana does it, and what a Prometheus answers. Used by the checks of the tree, the
sandbox suite, the emulated host (ask) and the README's picture.
"""
import json
import math
import re
import urllib.error
import urllib.parse
import urllib.request


class Prometheus:
    """Its HTTP API, at HOST:PORT."""

    def __init__(self, address):
        self.address = address

    def get(self, path, **arguments):
        url = "http://%s/api/v1/%s?%s" % (self.address, path, urllib.parse.urlencode(arguments, doseq=True))
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError("%s: %s" % (url, error.read().decode())) from error

    def range(self, expression, begin, end, step):
        """[(labels, [value or None at each step])]"""
        answer = self.get("query_range", query=expression, start=begin, end=end, step=step)["result"]
        return [(series["metric"], on_grid(series["values"], begin, end, step)) for series in answer]

    def label_values(self, label, selector):
        return self.get("label/%s/values" % label, **{"match[]": selector})


def on_grid(samples, begin, end, step):
    values = [None] * (round((end - begin) / step) + 1)
    for at, text in samples:
        number = float(text)
        values[round((at - begin) / step)] = number if math.isfinite(number) else None
    return values


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def targets(dashboard):
    """(the row's title, panel, target) of each query; the marks in all panels count as a panel each"""
    row = ""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        for target in panel.get("targets", []):
            yield row, panel, target
    for mark in dashboard["annotations"]["list"]:
        panel = {"type": "annotation", "title": mark["name"], "fieldConfig": {"defaults": {"unit": "none"}}}
        yield "Marks", panel, {"expr": mark["expr"], "legendFormat": mark["titleFormat"]}


def filled(expression, values, step, scrape_interval):
    """VALUES: what is chosen of each variable. $__rate_interval is as Grafana's documentation of its Prometheus data
    source has it: https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/"""
    rate_interval = max(step + scrape_interval, 4 * scrape_interval)
    made = expression.replace("$__rate_interval", "%ds" % math.ceil(rate_interval))
    made = re.sub(r"\$(\w+)", lambda match: values[match[1]], made)
    assert "$" not in made, made
    return made


def everything(dashboard):
    """The variables with All chosen."""
    return {variable["name"]: variable.get("allValue", "") for variable in dashboard["templating"]["list"]}


def chosen(value):
    """One value of a variable, for a regular expression in a string: as Grafana escapes it."""
    return re.sub(r"[$^*{}\[\]'+?.()|]", lambda match: "\\\\" + match[0], value.replace("\\", "\\" * 4))


def choices(dashboard, prometheus, values):
    """{variable: what is offered}"""
    offered = {}
    for variable in dashboard["templating"]["list"]:
        match = re.match(r"label_values\((.*), (\w+)\)$", variable.get("definition", ""))
        if match:
            offered[variable["name"]] = prometheus.label_values(match[2], filled(match[1], values, 1, 1))
    return offered


def legend(target, labels):
    """What stands below the panel for a series; None where a label that it names is missing."""
    named = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
    if any(not labels.get(name) for name in named):
        return None
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels[match[1]], target["legendFormat"])


def problem(panel, target, series):
    """Why a panel would show nothing for this query, or not what its legend promises; None: all is well."""
    if not series:
        return "nothing"
    if not any(value is not None for _, values in series for value in values):
        return "no numbers"
    if target.get("instant") and all(values[-1] is None for _, values in series):
        return "no number now"
    for labels, _ in series:
        if legend(target, labels) is None:
            return "a series without a label of its legend: %s" % labels
    parts = [(labels.get("bar"), legend(target, labels)) for labels, _ in series]
    if panel["type"] == "barchart" and (len(set(parts)) < len(parts) or not all(bar for bar, _ in parts)):
        return "parts without a bar of their own: %s" % parts
    return None


def answers(dashboard, prometheus, values, begin, end, step, scrape_interval):
    """One for each query: its panel, the series, and what is wrong with them."""
    made = []
    for row, panel, target in targets(dashboard):
        series = prometheus.range(filled(target["expr"], values, step, scrape_interval), begin, end, step)
        made.append({
            "row": row, "panel": panel["title"], "unit": panel["fieldConfig"]["defaults"]["unit"], "kind": panel["type"],
            "expr": target["expr"], "problem": problem(panel, target, series),
            "series": [{"legend": legend(target, labels), "labels": labels, "values": values}
                       for labels, values in sorted(series, key=lambda one: sorted(one[0].items()))]})
    return made
