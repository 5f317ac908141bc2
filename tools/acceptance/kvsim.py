"""The points of kvsim: what its predictions, its speed and its refusals must show."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from acceptance.engine import GIB, percent, tier_flags
from acceptance.machine import PROGRAM_TIMEOUT_S, Failed, Unavailable, run
from acceptance.report import Figure, Point

CONVERSATION = "mooncake/conversation_trace.jsonl"
WEKA = "weka-kv-cache-tester/weka_sessions_compact.jsonl.gz"
WORKLOADS = {"qwen-coder": "builtin:qwen-coder", "loogle": "builtin:loogle"}


def program(bench):
    return bench.build_folder / "src" / "kvsim" / "kvsim"


def ask(bench, command, *arguments):
    """Runs kvsim and returns its JSON."""
    out = bench.scratch / "kvsim.json"
    out.unlink(missing_ok=True)
    run([program(bench), command, *arguments, "--json", out])
    return json.loads(out.read_text())


def traces_folder(bench):
    folder = Path(os.environ.get("KVSTREAM_TRACES", bench.root.parent / "shared" / "traces"))
    if not (folder / "expected.json").is_file():
        raise Unavailable(f"no recorded traces in {folder}; KVSTREAM_TRACES names their folder")
    return folder


def tests_pass(bench, pattern):
    """Runs the tests whose names match and returns (how many, what failed or "")."""
    names = run(["ctest", "--test-dir", bench.build_folder, "-R", pattern, "-N"])
    count = int(re.search(r"Total Tests: (\d+)", names).group(1))
    if count == 0:
        return 0, f"no test matches {pattern}"
    try:
        run(["ctest", "--test-dir", bench.build_folder, "-R", pattern, "--output-on-failure"])
    except Failed as failure:
        return count, str(failure)
    return count, ""


# ---- a: the acceptance tests of the model, and the table of residuals

MODEL_TESTS = {
    "A1 Eq. 6 by hand": r"PaperAcceptanceTest\.A1|BoundTest\.StaticPenaltyGivesThePapersExamples",
    "A2 V shape": r"PaperAcceptanceTest\.A2",
    "A3 online split": r"PaperAcceptanceTest\.A3",
    "A4 two tiers against one": r"PaperRunsTest\.A4",
    "A5 LRU is exact": r"KnownReuseTest|RecordedReuseTest|GeneratedReuseTest|"
                       r"StackDistancesTest\.LruHits",
    "A6 queue growth": r"PaperRunsTest\.A6",
    "A7 write amplification": r"PaperAcceptanceTest\.A7",
    "A8 order": r"PaperRunsTest\.A8",
    "A9 conservation": r"PaperRunsTest\.A9|StorageWriteTest\.EveryPolicyConserves|"
                       r"SimulationTest\.TheSameScenarioHasTheSameHash",
}


def model_tests(bench):
    for name, pattern in MODEL_TESTS.items():
        count, failed = tests_pass(bench, pattern)
        yield Figure(name, failed or f"{count} tests pass", "all", not failed)
    if bench.quick:
        return
    paper = Path(os.environ.get("KVSTREAM_PAPER", bench.root.parent / "shared" / "paper"))
    if not (paper / "numbers.json").is_file():
        yield Figure("residuals", f"no numbers.json in {paper}; KVSTREAM_PAPER names its folder",
                     "not judged", None)
        return
    said = run([sys.executable, "-B", bench.root / "tools" / "model_residuals.py", "--program",
                program(bench), "--check"])
    yield Figure("residuals", said.strip(), "the table is what kvsim says")


# ---- b: known answers

def known_answers(bench):
    traces_folder(bench)
    count, failed = tests_pass(bench, r"KnownAnswersTest|KnownReuseTest")
    yield Figure("", failed or f"{count} tests pass: hits and distances of all cases, both orders "
                 "of touching", "expected.json, count for count", not failed)


# ---- c: speed

def measured(command):
    """Runs a command; returns its wall time in seconds and its largest memory in bytes."""
    began = time.monotonic()
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"kvsim: exit {process.returncode}: {errors.strip()}")
    return time.monotonic() - began, usage.ru_maxrss * 1024


def accesses_per_second(bench):
    rows = bench.micro("lru_index_bench", min_time=0.3)
    rows.update(bench.micro("stack_distance_bench", min_time=0.3))
    for name, what in (("TouchOrReplace", "LRU, a touch or an eviction"),
                       ("TouchPrefixes", "LRU, touches along prefixes"),
                       ("Exact", "exact reuse distances")):
        speed = rows[name]["items_per_second"] / 1e6
        yield Figure(what, f"{speed:.1f} M accesses/s on one core, 1 M chunks",
                     "at least 5 M", speed >= 5)


def best_of(times, measure):
    return min((measure() for _ in range(times)), key=lambda pair: pair[0])


def speed(bench):
    yield from accesses_per_second(bench)
    folder = traces_folder(bench)
    common = ("--device", "testbed1", "--policy", "kvstream")
    seconds, _ = best_of(3, lambda: measured(
        [program(bench), "run", "--trace", folder / CONVERSATION, "--model", "70B", *common]))
    yield Figure("12,031 conversations in trace mode", f"{seconds:.2f} s, best of 3", "at most 1 s",
                 seconds <= 1)
    seconds, memory = measured(
        [program(bench), "run", "--trace", folder / WEKA, "--model", "32B", "--arrivals", "think",
         "--rate", "0.02", *common])
    yield Figure("49,334 WEKA requests in trace mode",
                 f"{seconds:.1f} s, {memory / GIB:.2f} GiB", "at most 60 s and 2 GiB",
                 seconds <= 60 and memory <= 2 * GIB)


# ---- d: a step log of the engine

REPLAYED = ("kvstream", "single:fast", "static:2:1")


def step_log(bench):
    tiers = bench.throttled(600, 300)
    log = bench.scratch / "steps.jsonl"
    policies = [part for name in REPLAYED for part in ("--policy", name)]
    bench.kvstream("replay", *tier_flags(tiers, ("fast", "slow")), "--trace",
                   "builtin:agent,sessions=6,turns=8,seed=5", "--order", "round-robin",
                   "--chunk-bytes", "2MiB", "--host-cache", "16MiB", "--stage", "512MiB",
                   "--stage-full", "wait", "--forward", "constant=20ms", *policies, "--step-log",
                   log, tiers=tiers)
    for name in REPLAYED:
        found = ask(bench, "replay-log", log, "--logged", name, "--policy", name)["policies"][0]
        ours, theirs = found["retrieval_s"], found["logged_retrieval_s"]
        yield Figure(name, f"{ours:.3f} s predicted, {theirs:.3f} s in the engine, "
                     f"{percent(ours / theirs - 1)}, {found['steps']} steps", "within 3 %",
                     abs(ours / theirs - 1) <= 0.03)


# ---- e: write policies

WRITE_POLICIES = {  # (what is asked, what is met)
    "full": ("2.0×, gap at most 2 %",
             lambda written, gap: abs(written - 2) < 0.02 and gap <= 0.02),
    "fraction:0.4": ("not judged here: A7 judges it on logged steps", lambda *_: None),
    "when-slow": ("not judged here: A7 judges it on logged steps", lambda *_: None),
    "on-reuse": ("not judged: is it the bound with at most 1.2×?", lambda *_: None),
}


def write_policies(bench):
    """As the paper does: a run's step log, replayed under each policy."""
    spread = "load.shape=lognormal,load.step=10s,load.sigma=0.13"
    machines = {"qwen-coder": ("--device", "testbed2", "--order", "round-robin"),
                "loogle": ("--tier", f"nvme=5.5GB/s,{spread}", "--tier", f"pfs=4.5GB/s,{spread}")}
    policies = [part for name in WRITE_POLICIES for part in ("--policy", f"kvstream+{name}")]
    for workload, trace in WORKLOADS.items():
        log = bench.scratch / "run.jsonl"
        run([program(bench), "run", "--trace", trace, "--model", "32B", "--gpu", "A100-40GB",
             *machines[workload], "--policy", "kvstream", "--step-log", log])
        found = ask(bench, "replay-log", log, *policies)["policies"]
        for (name, (target, is_met)), one in zip(WRITE_POLICIES.items(), found):
            written, gap = one["write_amplification"], one["gap"]
            yield Figure(f"{name}, {workload}", f"{written:.2f}× written, gap {percent(gap)}",
                         target, is_met(written, gap))


# ---- f: bad traces

GOOD_ROW = '{"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]}\n'
BAD_TRACES = {
    "empty": ("mooncake", ""),
    "cut short": ("mooncake", GOOD_ROW + '{"timestamp": 1, "input_len'),
    "not JSON": ("mooncake", GOOD_ROW + "what?\n"),
    "a huge number": ("mooncake", GOOD_ROW.replace("1024", "1" + "0" * 30)),
    "a negative number": ("mooncake", GOOD_ROW.replace("1024", "-1024")),
    "time that steps back": ("mooncake", GOOD_ROW.replace('p": 0', 'p": 9') + GOOD_ROW),
    "ids that do not fit the length": ("mooncake", GOOD_ROW.replace("1024", "9024")),
}


FORMATS = ("auto", "mooncake", "qwen", "prefix-trie", "weka", "lmcache", "azure", "burstgpt",
           "vidur", "splitwise", "lengths")


def bad_traces():
    """(name, format, contents); the mistakes of a row are in one format, its reader is shared."""
    for name, (form, contents) in BAD_TRACES.items():
        yield name, form, contents
    for form in FORMATS:
        yield f"empty {form}", form, ""
        yield f"no {form} at all", form, "{what?\n"


def refusals(bench):
    path, refused, asked = bench.scratch / "bad.jsonl", 0, 0
    for name, form, contents in bad_traces():
        path.write_text(contents)
        done = subprocess.run([str(program(bench)), "run", "--trace", str(path), "--format", form,
                               "--model", "70B", "--device", "testbed1"], capture_output=True,
                              text=True, timeout=PROGRAM_TIMEOUT_S)
        told = re.search(r"bad\.jsonl(:\d+)?", done.stderr)
        asked += 1
        if done.returncode == 2 and told and (told.group(1) or not contents):
            refused += 1
        else:
            yield Figure(name, f"exit {done.returncode}: {done.stderr.strip()[-200:]}",
                         "exit 2 with file and line", False)
    yield Figure("", f"{refused} of {asked} bad traces refused with file and line", "all",
                 refused == asked)
    yield Figure("fuzzers", "tools/fuzz --runs 1000000 runs every parser, by hand; stage clang of "
                 ".ci/run has a smoke of each", "not judged", None)


# ---- g: the README's commands

def readme_commands(root):
    """The kvsim command lines of README.md, continued lines joined."""
    page = (root / "README.md").read_text()
    blocks = re.findall(r"```(?:sh|bash|console)?\n(.*?)```", page, re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines
            if re.match(r"(\$ )?(\S*/)?kvsim ", line)]


def newcomer(bench):
    commands = readme_commands(bench.root)
    if not commands:
        raise Failed("README.md has no kvsim command")
    recorded = Path(os.environ.get("KVSTREAM_TRACES", bench.root.parent / "shared" / "traces"))
    for command in commands:
        arguments = [str(recorded / CONVERSATION) if part.endswith("conversation_trace.jsonl")
                     else part for part in command[1:]]
        if not recorded.is_dir() and arguments != command[1:]:
            continue
        said = run([program(bench), *arguments], cwd=bench.scratch)
        verdict = re.findall(r"^Does \S+ pay .*", said, re.M)
        answers = command[1] == "run"
        yield Figure(" ".join(command[:4]), verdict[0] if verdict else "runs",
                     "answers whether a tier pays" if answers else "runs",
                     bool(verdict) or not answers)


PROGRAM = ("kvsim_cli",)
POINTS = (
    Point("a", model_tests, PROGRAM + ("kvs_model_test", "kvs_sim_test", "kvs_serving_test",
                                      "kvs_cache_test")),
    Point("b", known_answers, ("kvs_trace_test", "kvs_cache_test")),
    Point("c", speed, PROGRAM + ("lru_index_bench", "stack_distance_bench")),
    Point("d", step_log, PROGRAM + ("kvstream_cli",)),
    Point("e", write_policies, PROGRAM),
    Point("f", refusals, PROGRAM),
    Point("g", newcomer, PROGRAM),
)
