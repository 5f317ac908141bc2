#!/usr/bin/env python3
"""Runs the project's checks, the same on a desk and in CI.

    tools/ci.py all              every stage but the optional ones
    tools/ci.py lint dev         some stages
    tools/ci.py --list           stages, budgets, commands

A stage ends when its build fails; every other failure only counts, and the next stage starts
anyway. Test cases count one each, every other command counts one. The last line is the total.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "ci"
JOBS = str(os.cpu_count() or 2)
TAIL_LINES = 80  # of a failing command's output

ASAN_ENV = {"ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1",
            "UBSAN_OPTIONS": "print_stacktrace=1", "KVS_SIM_SEEDS": "200"}
TSAN_ENV = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1", "KVS_SIM_SEEDS": "50"}


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list = field(default_factory=list)  # names of failed cases, reasons of skipped ones

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass(frozen=True)
class Step:
    name: str
    command: tuple
    env: dict = field(default_factory=dict)
    runner: str = ""  # "ctest" and "unittest" report cases; anything else is one check
    needs: str = ""  # a program; without it the step is skipped
    required: bool = False  # later steps of the stage need this one


@dataclass(frozen=True)
class Stage:
    name: str
    says: str
    budget_minutes: float
    steps: tuple
    optional: bool = False


def python(name, *arguments, runner=""):
    command = (sys.executable, *arguments)
    return Step(name, command, {"PYTHONDONTWRITEBYTECODE": "1"}, runner)


def build(preset, *targets):
    """Steps that configure a preset and build its targets, all by default."""
    wanted = ("--target", *targets) if targets else ()
    command = ("cmake", "--build", "--preset", preset, "-j", JOBS, *wanted)
    # The build folder decides nothing but a path in the debug information, so that the shared build
    # takes the objects of dev.
    return (Step("configure", ("cmake", "--preset", preset), required=True),
            Step("build", command, {"CCACHE_NOHASHDIR": "1"}, required=True))


def ctest(preset, *selection, env=None, jobs=JOBS):
    return Step("ctest", ("ctest", "--preset", preset, "-j", jobs, *selection), env or {}, "ctest")


def labels(*names):
    return ("-L", f"^({'|'.join(names)})$")


def cpp_files():
    names = ("src", "include", "tests", "bench", "examples")
    files = (p for name in names for p in (ROOT / name).rglob("*") if p.suffix in (".cc", ".h"))
    return tuple(str(p.relative_to(ROOT)) for p in sorted(files))


def stages():
    lints = (python(f"check_{name}", f"tools/lint/check_{name}.py") for name in
             ("layers", "tree", "docs"))
    tidy_files = tuple(name for name in cpp_files() if re.match(r"src/.*(?<!_test)\.cc$", name))
    return (
        Stage("lint", "layers, sizes, leftovers, documents; the tools' own tests", 0.5, (
            *lints,
            python("selftest", "-m", "unittest", "discover", "-s", "tools/lint", "-p", "test_*.py",
                   runner="unittest"),
            python("ci selftest", "-m", "unittest", "discover", "-s", "tools", "-p", "test_*.py",
                   runner="unittest"))),
        Stage("format", "clang-format 14, .clang-format", 0.5, (
            Step("clang-format", ("clang-format-14", "--dry-run", "-Werror", *cpp_files()),
                 needs="clang-format-14"),)),
        Stage("dev", "g++, warnings are errors, every test", 6.5, (
            *build("dev"),
            Step("headers", ("cmake", "--build", "--preset", "dev", "-j", JOBS, "--target",
                             "all_verify_interface_header_sets")),
            ctest("dev", "-LE", "^(bench-smoke|lint)$"))),
        Stage("bench", "every benchmark at its smallest size", 0.5, (
            ctest("dev", *labels("bench-smoke"), jobs="1"),)),
        Stage("clang", "clang 14, warnings are errors, unit tests, fuzzers", 6, (
            *build("clang"), ctest("clang", *labels("unit", "fuzz")))),
        Stage("asan", "address and undefined-behaviour sanitizers", 6, (
            *build("asan"),
            ctest("asan", *labels("unit", "io", "engine", "sim", "install"), env=ASAN_ENV))),
        Stage("tsan", "thread sanitizer, on what has threads", 3, (
            *build("tsan", "kvs_io_tests", "kvs_engine_tests"),
            ctest("tsan", *labels("io", "engine"), env=TSAN_ENV))),
        Stage("shared", "shared library, installed, used by a project of its own", 1.5, (
            *build("shared", "kvs_installed", "examples"), ctest("shared", *labels("install")))),
        Stage("tidy", "clang-tidy 14, .clang-tidy", 10, (
            Step("configure", ("cmake", "--preset", "clang"), required=True),
            Step("clang-tidy", ("clang-tidy-14", "-quiet", "-p", "build/clang", *tidy_files),
                 needs="clang-tidy-14")), optional=True),
    )


def skip_reason(case):
    """Returns what the skipped case printed, or ctest's own words."""
    output = case.findtext("system-out") or ""
    match = re.search(r"Skipped\n(.+)", output)
    return match.group(1).strip() if match else case.find("skipped").get("message", "")


def count_ctest(path):
    """Counts the cases of a JUnit file of ctest. A case that could not be run has failed."""
    count = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, skipped = case.get("name"), case.find("skipped")
        if case.get("status") == "run":
            count.passed += 1
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            count.skipped += 1
            count.notes.append(f"skipped {name}: {skip_reason(case)}")
        else:
            count.failed += 1
            count.notes.append(f"failed {name}")
    return count


def count_unittest(text):
    """Counts the cases in the output of python -m unittest."""
    ran = re.search(r"^Ran (\d+) tests?", text, re.MULTILINE)
    if not ran:
        return Count()
    numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text[ran.end():])}
    failed = numbers.get("failures", 0) + numbers.get("errors", 0)
    skipped = numbers.get("skipped", 0)
    notes = [f"failed {name}" for name in re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.MULTILINE)]
    return Count(int(ran.group(1)) - failed - skipped, failed, skipped, notes)


def count_step(step, returncode, text, report):
    """Counts what a finished step showed; a runner that fails without a failed case counts one."""
    if step.runner == "ctest":
        count = count_ctest(report) if report.exists() else Count()
    elif step.runner == "unittest":
        count = count_unittest(text)
    else:
        count = Count(passed=int(returncode == 0))
    if returncode != 0 and count.failed == 0:
        count.add(Count(failed=1, notes=[f"failed with exit code {returncode}"]))
    if returncode == 0 and count.passed + count.skipped == 0:
        count.add(Count(failed=1, notes=["no test was run"]))
    return count


def run_step(stage, step):
    if step.needs and not shutil.which(step.needs):
        return Count(skipped=1, notes=[f"skipped {step.name}: there is no {step.needs}"])
    place = LOGS / f"{stage.name}-{step.name.replace(' ', '-')}"
    log, report = place.with_suffix(".log"), place.with_suffix(".xml")
    report.unlink(missing_ok=True)
    command = step.command + (("--output-junit", str(report)) if step.runner == "ctest" else ())
    with log.open("w") as output:
        try:
            returncode = subprocess.run(command, cwd=ROOT, env=os.environ | step.env, stdout=output,
                                        stderr=subprocess.STDOUT, check=False).returncode
        except FileNotFoundError as error:
            returncode = 127
            output.write(f"{error}\n")
    text = log.read_text(errors="replace")
    if returncode != 0:
        print("\n".join(text.splitlines()[-TAIL_LINES:]), flush=True)
    return count_step(step, returncode, text, report)


def run_stage(stage):
    print(f"== {stage.name}: {stage.says}", flush=True)
    total, start = Count(), time.monotonic()
    for step in stage.steps:
        step_start = time.monotonic()
        count = run_step(stage, step)
        total.add(count)
        print(f"   {step.name}: {count}, {time.monotonic() - step_start:.0f} s", flush=True)
        for note in count.notes:
            print(f"      {note}", flush=True)
        if count.failed and step.required:
            break
    minutes = (time.monotonic() - start) / 60
    late = ", over its budget" if minutes > stage.budget_minutes else ""
    print(f"   {minutes:.1f} of {stage.budget_minutes} minutes{late}", flush=True)
    return total


def list_stages():
    for stage in stages():
        optional = ", not in all" if stage.optional else ""
        print(f"{stage.name}: {stage.says} ({stage.budget_minutes} minutes{optional})")
        for step in stage.steps:
            words = " ".join(step.command)
            print(f"    {words if len(words) < 200 else words[:200] + ' …'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="stage")
    parser.add_argument("--list", action="store_true", help="show the stages and their commands")
    arguments = parser.parse_args()
    if arguments.list or not arguments.stages:
        list_stages()
        return 0
    wanted, known = set(arguments.stages), {stage.name: stage for stage in stages()}
    if unknown := wanted - {*known, "all"}:
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if "all" in wanted:
        wanted |= {name for name, stage in known.items() if not stage.optional}
    LOGS.mkdir(parents=True, exist_ok=True)
    total = Count()
    for name, stage in known.items():
        if name in wanted:
            total.add(run_stage(stage))
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
