#!/usr/bin/env python3
"""Draws what `kvsim run`, `kvsim sweep` or `kvsim mrc` wrote with --json as one HTML page.

    kvsim_report.py RUN.json OUT.html

The page needs nothing else: plots are SVG inside it. Draws only; every figure is the program's.
Exit: 0 written, 1 no matplotlib or the page cannot be written, 2 not such a file.
"""

import html
import io
import json
import sys
from pathlib import Path

GB = 1e9
GIB = 2.0**30
STYLE = ("body{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
         "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;"
         "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
         "svg{max-width:100%;height:auto}")


class NotAReport(Exception):
    """The file is not a JSON summary of kvsim."""


def seconds(value):
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def percent(value):
    return f"{value * 100:.1f} %"


TABLE_ROWS = (
    ("requests/s", lambda p: f"{p['requests_per_s']:.4g}"),
    ("TTFT, mean", lambda p: seconds(p["ttft_s"]["mean"])),
    ("TTFT, p99", lambda p: seconds(p["ttft_s"]["p99"])),
    ("retrieval of the prefill step", lambda p: percent(p["retrieval_share"])),
    ("largest term", lambda p: p["dominant"]),
    ("read from storage, GiB a rank", lambda p: f"{p['demand_bytes'] / GIB:.4g}"),
    ("gap to the bound", lambda p: percent(p["gap"]) if p["bound_s"] else "-"),
    ("copies written of a new chunk", lambda p: f"{p['write_amplification']:.2f}"),
    ("busy", lambda p: percent(p["utilisation"])),
    ("hash", lambda p: p["hash"]),
)


def table(header, rows):
    def line(tag, cells):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"
    return "<table>" + line("th", header) + "".join(line("td", row) for row in rows) + "</table>"


class Plots:
    """Collects figures as SVG."""

    def __init__(self):
        import matplotlib
        matplotlib.use("svg")
        # Text stays text, and the same figures give the same page.
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kvsim"})
        from matplotlib import pyplot
        self.pyplot = pyplot
        self.parts = []

    def add(self, title, x_label, y_label, draw, **axes_options):
        figure, axes = self.pyplot.subplots(figsize=(8, 3.6), layout="constrained")
        draw(axes)
        axes.set(title=title, xlabel=x_label, ylabel=y_label, **axes_options)
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        self.pyplot.close(figure)
        self.parts.append(text.getvalue()[text.getvalue().index("<svg"):])


def draw_ttft(policies):
    def draw(axes):
        for policy in policies:
            values = policy["curves"]["ttft_s"]
            axes.plot(values, [i / (len(values) - 1) for i in range(len(values))],
                      label=policy["policy"])
        axes.set_xscale("log")
    return draw


def draw_phi(policies):
    def draw(axes):
        for policy in policies:
            values = policy["curves"]["phi"]
            axes.plot(values, [i / (len(values) - 1) for i in range(len(values))],
                      label=policy["policy"])
    return draw


def slice_times(timeline):
    return [i * timeline["slice_s"] for i in range(len(timeline["retrieval_s"]))]


def draw_steps(timeline):
    def draw(axes):
        parts = ("retrieval_s", "forward_s", "write_wait_s")
        axes.stackplot(slice_times(timeline), *(timeline[part] for part in parts),
                       labels=("retrieval", "forward pass", "wait for writes"))
    return draw


def draw_tiers(policy):
    def draw(axes):
        timeline = policy["curves"]["timeline"]
        for tier, values in zip(policy["tiers"], timeline["tier_bandwidth"]):
            known = [float("nan") if value is None else value / GB for value in values]
            axes.plot(slice_times(timeline), known, marker=".", label=tier["name"])
        axes.set_ylim(bottom=0)
    return draw


def draw_demand(curve, memory=None):
    def draw(axes):
        axes.plot([p["memory_bytes"] / GIB for p in curve["points"]],
                  [p["demand_bytes"] / GIB for p in curve["points"]], marker=".")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        if memory:
            axes.axvline(memory / GIB, linestyle=":", label="this run")
    return draw


def add_demand(plots, curve, memory=None):
    plots.add("Demand over memory (Eq. 2; requests in flight take some of the memory)",
              "memory, GiB a rank", "read from storage, GiB a rank", draw_demand(curve, memory))


def add_run(plots, run):
    policies = run["policies"]
    timed = [p for p in policies if p["curves"]["ttft_s"]]
    if timed:
        plots.add("Time to first token", "s", "share of the requests", draw_ttft(timed))
    for policy in policies:
        plots.add(f"Where prefill steps spend their time: {policy['policy']}",
                  "begin of the step, s", "s in a slice",
                  draw_steps(policy["curves"]["timeline"]))
    for policy in policies:
        if policy["demand_bytes"]:
            plots.add(f"What a tier delivers while it reads: {policy['policy']}",
                      "begin of the step, s", "GB/s a rank", draw_tiers(policy))
    shared = [p for p in policies if p["curves"]["phi"]]
    if shared:
        plots.add("Share of the bandwidth that the first tier has (Eq. 4)", "φ",
                  "share of the steps", draw_phi(shared))
    setup = run["setup"]
    add_demand(plots, run["demand_curve"], setup["gpu_cache_bytes"] + setup["host_cache_bytes"])
    rows = [(name, *(cell(policy) for policy in policies)) for name, cell in TABLE_ROWS]
    return table(("policy", *(p["policy"] for p in policies)), rows)


def add_sweep(plots, sweep):
    points = sweep["points"]
    labels = {}
    for point in points:
        name = point["policy"]
        if point["rate"] is not None:
            name += f", {point['rate']:.3g}/s"
        labels.setdefault(name, []).append(point)

    def draw(value):
        def inner(axes):
            for name, line in labels.items():
                axes.plot([p["host_cache_bytes"] / GIB for p in line], [value(p) for p in line],
                          marker=".", label=name)
        return inner
    size = "host cache, GiB a rank"
    plots.add("Mean time to first token", size, "s", draw(lambda p: p["ttft_s"]["mean"]),
              yscale="log")
    plots.add("Throughput", size, "requests/s", draw(lambda p: p["requests_per_s"]))
    plots.add("Read from storage", size, "GiB a rank", draw(lambda p: p["demand_bytes"] / GIB))
    rows = [(p["policy"], f"{p['host_cache_bytes'] / GIB:.4g}",
             "recorded" if p["rate"] is None else f"{p['rate']:.3g}", seconds(p["ttft_s"]["mean"]),
             f"{p['requests_per_s']:.4g}", percent(p["retrieval_share"])) for p in points]
    return table(("policy", "host cache, GiB", "rate/s", "TTFT", "done/s", "retrieval"), rows)


def add_mrc(plots, mrc):
    add_demand(plots, mrc["demand_curve"])
    rows = [(f"{p['memory_bytes'] / GIB:.4g}", f"{p['demand_bytes'] / GIB:.4g}",
             percent(p["miss_ratio"])) for p in mrc["demand_curve"]["points"]]
    return table(("memory, GiB a rank", "demand, GiB a rank", "of the reuses"), rows)


def sentences(data):
    texts = []
    if data.get("verdict"):
        texts.append(data["verdict"]["text"])
    texts += data["trace"]["notes"] + data.get("notes", [])
    for policy in data.get("policies", []):
        texts += [f"{policy['policy']}: {warning}" for warning in policy["warnings"]]
    return "".join(f"<p>{html.escape(text)}</p>" for text in dict.fromkeys(texts))


def page(data):
    makers = {"run": add_run, "sweep": add_sweep, "mrc": add_mrc}
    if not isinstance(data, dict) or data.get("program") != "kvsim":
        raise NotAReport("not written by kvsim --json")
    if data.get("command") not in makers:
        raise NotAReport(f"nothing to draw for kvsim {data.get('command')}")
    plots = Plots()
    figures = makers[data["command"]](plots, data)
    trace = data["trace"]
    title = f"kvsim {data['command']}: {trace['source']}"
    facts = (f"{trace['requests']} requests, {trace['input_tokens']} prompt tokens, "
             f"{percent(trace['reuse'])} of the chunk accesses are reuses; kvsim {data['version']}")
    return ("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
            f"<h1>{html.escape(title)}</h1><p>{html.escape(facts)}</p>{sentences(data)}{figures}"
            f"{''.join(plots.parts)}</body></html>\n")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = arguments
    try:
        text = page(json.loads(Path(source).read_text()))
        Path(target).write_text(text)
    except ImportError as error:
        print(f"kvsim_report: {error}; on Debian: apt install python3-matplotlib", file=sys.stderr)
        return 1
    except (NotAReport, ValueError, KeyError, FileNotFoundError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else error
        print(f"kvsim_report: {source}: {reason}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"kvsim_report: {target}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
