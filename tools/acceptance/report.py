"""Points, their figures and how they are printed."""

import time
from dataclasses import dataclass
from typing import Callable

from acceptance.machine import Failed, Unavailable


@dataclass(frozen=True)
class Figure:
    """One measured number beside its target. `met` None: reported, not judged."""
    name: str  # of the case within the point, or empty
    text: str
    target: str
    met: bool | None = True


@dataclass(frozen=True)
class Point:
    name: str
    measure: Callable  # (Bench) -> iterable of Figure
    targets: tuple = ()  # what must be built
    quick: bool = True  # part of a quick run
    why_not_quick: str = ""


def show(word, point, case, text, target=""):
    name = f"{point} {case}" if case else point
    print(f"{word:7} {name}: {text}" + (f" ({target})" if target else ""), flush=True)


def run(point, bench):
    """Prints the point's lines as they come. False if one falls short."""
    if bench.quick and not point.quick:
        show("skipped", point.name, "", f"not in a quick run: {point.why_not_quick}")
        return True
    begin = time.monotonic()
    met = True
    try:
        for figure in point.measure(bench):
            met = met and figure.met is not False
            word = {True: "ok", False: "short", None: "note"}[figure.met]
            show(word, point.name, figure.name, figure.text, figure.target)
    except Unavailable as reason:
        show("skipped", point.name, "", str(reason))
    except Failed as failure:
        show("short", point.name, "", f"cannot be measured: {failure}")
        met = False
    bench.log(f"point {point.name}: {time.monotonic() - begin:.0f} s")
    return met
