"""The table of docs/model.md."""

from residuals import bounds, offline, online, setup  # noqa: F401  (they register their rules)
from residuals.rules import outcome

BEGIN = "<!-- residuals: made by tools/model_residuals.py -->"
END = "<!-- end of residuals -->"

HEAD = ("| # | where | what | unit | paper | kvsim | ratio | remark |\n"
        "|---|---|---|---|---|---|---|---|")
WORDS = {"predicted": "", "fitted": "fitted", "input": "input", "none": "not predicted"}


def number(value):
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def flat(value):
    """The numbers of a value, which may be a list or a dict of them."""
    if isinstance(value, dict):
        return [part for each in value.values() for part in flat(each)]
    if isinstance(value, list):
        return [part for each in value for part in flat(each)]
    return [value]


def text(value):
    if isinstance(value, dict):
        return "; ".join(f"{key} {text(each)}" for key, each in value.items())
    return " / ".join(number(each) for each in flat(value))


def comparable(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def pairs(found, paper):
    """(predicted, paper) number by number; none where kvsim says nothing of that shape."""
    if isinstance(found, dict):
        return [pair for key, each in found.items() for pair in pairs(each, paper[key])]
    mine, theirs = flat(found), flat(paper)
    if len(mine) != len(theirs) or not all(map(comparable, mine + theirs)):
        return []
    return list(zip(mine, theirs))


def ratio(found, paper):
    shown = [f"{mine / theirs:.2f}" if theirs else "–" for mine, theirs in pairs(found, paper)]
    return " / ".join(shown) or "–"


def row(index, entry, found):
    remark = ": ".join(part for part in (WORDS[found.kind], found.remark) if part)
    cells = (index, entry["ref"], f"{entry['setting']}: {entry['metric']}", entry["unit"],
             text(entry["value"]), text(found.value), ratio(found.value, entry["value"]), remark)
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def within(rows, share):
    """How many predicted numbers lie within a share of the paper's, and of how many."""
    numbers = [pair for entry, found in rows if found.kind == "predicted"
               for pair in pairs(found.value, entry["value"])[found.fitted_first:] if pair[1]]
    return sum(abs(mine / theirs - 1) <= share for mine, theirs in numbers), len(numbers)


def make(kvsim, entries):
    rows = [(entry, outcome(kvsim, entry)) for entry in entries]
    count = {kind: sum(found.kind == kind for _, found in rows) for kind in WORDS}
    close, total = within(rows, 0.1)
    near, _ = within(rows, 0.3)
    lines = [f"{len(rows)} values: {count['predicted']} predicted, {count['fitted']} fitted, "
             f"{count['input']} given to kvsim, {count['none']} not predicted. Of the {total} "
             f"numbers in the predicted ones {close} are within 10 % of the paper's, {near} within "
             "30 %.", "", HEAD]
    return "\n".join(lines + [row(i, *each) for i, each in enumerate(rows, 1)])


def current(page):
    """The table that a page has now."""
    return page.split(BEGIN)[1].split(END)[0].strip("\n")


def replaced(page, made):
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n\n" + made + "\n\n" + END + rest.split(END)[1]
