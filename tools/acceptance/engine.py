"""The points of the engine: what a step's reads, a put, the index and a crash must show."""

import os
import re
import sys
import time
from pathlib import Path

from acceptance.machine import (ChangingRate, Failed, TIER_CAPACITY, Unavailable, run)
from acceptance.report import Figure, Point

MIB, GIB = 1 << 20, 1 << 30
CHUNK = "16MiB"
FULL_RATE_MIB = 1000  # of the points about one tier


def percent(share):
    return f"{share * 100:.2f} %"


def tier_flags(tiers, names, **keys):
    extra = "".join(f",{key}={value}" for key, value in keys.items())
    return [part for number, name in enumerate(names)
            for part in ("--tier", f"{name}={tiers.path(number)},capacity={TIER_CAPACITY}{extra}")]


def step_bench(bench, tiers, names, chunks, steps, *flags):
    """`kvstream bench` of steps of 16 MiB chunks; returns the policies by name."""
    summary = bench.kvstream("bench", *tier_flags(tiers, names), "--chunks", chunks,
                             "--chunk-bytes", CHUNK, "--steps", steps, "--idle", "300ms",
                             "--keep", *flags, tiers=tiers)
    return {policy["policy"]: policy for policy in summary["policies"]}


def gap_text(policy):
    low, high = policy["ceiling"]["gap_quartiles"]
    return (f"gap {percent(policy['ceiling']['gap_median'])} to raw readers, quartiles "
            f"{percent(low)} to {percent(high)}, {policy['steps']} steps; by own busy times "
            f"{percent(policy['gap_median'])}")


def is_complete(policy):
    return policy["missed_chunks"] == 0


# ---- a: quiet tiers

def quiet_case(bench, first, second):
    tiers = bench.throttled(first, second)
    names = ("fast", "slow") if first > second else ("slow", "fast")
    static = "static:2:1" if first > second else "static:1:2"
    others = (static, "chunks:4", "single:fast")
    policies = ["--policy", "kvstream"]
    if not bench.quick:
        policies += [part for other in others for part in ("--policy", other)]
    found = step_bench(bench, tiers, names, 64, 4 if bench.quick else 10, *policies)
    ours = found["kvstream"]
    beside = [f"{name} {percent(policy['ceiling']['gap_median'])}"
              for name, policy in found.items() if name != "kvstream"]
    case = f"{first}:{second}"
    yield Figure(case, "; ".join([gap_text(ours), *beside]), "at most 1 %",
                 ours["ceiling"]["gap_median"] <= 0.01 and is_complete(ours))
    twice = ours["bytes_read_twice"] / ours["bytes"]
    yield Figure(f"{case} read twice", percent(twice), "at most 2 %", twice <= 0.02)


def quiet(bench):
    for first, second in ((600, 300),) if bench.quick else ((600, 300), (300, 600), (600, 150)):
        yield from quiet_case(bench, first, second)


# ---- b: a limit that changes every second. The other tier has 200 MiB/s.

CYCLES_MIB = {
    "periodic": (100, 40),
    "bursty": (100, 100, 15, 100, 30),
    "steady": (60, 56, 64, 58, 62),  # a load that is always there
}


def changing(bench):
    tiers = bench.throttled(0, 0)
    # 2.75 GiB: more than 10 s, ten changes and five periods. Written before the limits come.
    chunks = 176
    step_bench(bench, tiers, ("fast", "slow"), chunks, 1, "--ceiling", "none", "--warmup", 0)
    tiers.set_rates(200, 100)
    for name, cycle in CYCLES_MIB.items():
        with ChangingRate(tiers, 1, cycle):
            found = step_bench(bench, tiers, ("fast", "slow"), chunks, 4, "--warmup", 0,
                               "--align", f"{len(cycle)}s")
        ours = found["kvstream"]
        step_s = ours["retrieval_s"] / ours["steps"]
        yield Figure(name, f"{gap_text(ours)}; {step_s:.1f} s a step", "at most 2 %",
                     ours["ceiling"]["gap_median"] <= 0.02 and step_s >= 5 and is_complete(ours))


# ---- c: copies that are gone

def evicted(bench):
    tiers = bench.throttled(600, 300)
    for share in ("20%", "40%"):
        found = step_bench(bench, tiers, ("fast", "slow"), 96, 10, "--evict", f"{share}:slow")
        ours = found["kvstream"]
        yield Figure(f"{share} of one tier gone", gap_text(ours), "at most 2 %",
                     ours["ceiling"]["gap_median"] <= 0.02 and is_complete(ours))


# ---- d, e: one tier

def one_tier(bench, rate_mib):
    """A function that runs a benchmark of the first tier at this rate."""
    tiers = bench.throttled(rate_mib, rate_mib)
    return lambda *flags, **keys: bench.kvstream(
        "bench", *tier_flags(tiers, ("only",), **keys), "--chunks", 64, "--chunk-bytes", CHUNK,
        "--keep", *flags, tiers=tiers)


def against_fio(bench):
    for backend, rate_mib, pairs in (("uring", FULL_RATE_MIB, 15), ("threads", FULL_RATE_MIB, 15),
                                     ("uring", 0, 7)):
        measure = one_tier(bench, rate_mib)
        found = measure("--mode", "single", "--steps", pairs, "--idle", "200ms",
                        backend=backend)["pairs"]
        low, high = found["ratio_interval"]
        ours = sorted(found["ours_bytes_per_second"])
        yield Figure(f"{backend} at {rate_mib} MiB/s" if rate_mib else f"{backend} without a limit",
                     f"{found['ratio_median']:.4f} of fio, 95 % interval {low:.4f} to {high:.4f}, "
                     f"{len(ours)} pairs, {ours[0] / MIB:.0f} to {ours[-1] / MIB:.0f} MiB/s",
                     "at least 0.97" if rate_mib else "not judged",
                     found["ratio_median"] >= 0.97 if rate_mib else None)


def cpu(bench):
    row = next(row for name, row in bench.micro("crc32c_bench", min_time=0.2).items()
               if re.fullmatch(r"Checksum<Crc32c>/1677\d+", name))
    yield Figure("memory", f"a CRC-32C of 16 MiB that is not in a cache takes "
                 f"{GIB / row['bytes_per_second'] * 1e3:.1f} ms/GiB here", "not judged", None)
    measure = one_tier(bench, FULL_RATE_MIB)
    for verify, limit_ms in (("on", 45), ("off", 12)):
        policy = measure("--ceiling", "none", "--steps", 10, "--verify", verify)["policies"][0]
        used_ms = policy["cpu_ms_per_gib"]
        yield Figure(f"verify {verify}", f"{used_ms:.1f} ms of CPU per GiB, "
                     f"{policy['bytes_per_second'] / MIB:.0f} MiB/s", f"at most {limit_ms} ms",
                     used_ms <= limit_ms)


# ---- f: writes

def median(values):
    return sorted(values)[len(values) // 2]


def puts(bench):
    tiers = bench.throttled(600, 300)
    put = bench.kvstream("bench", *tier_flags(tiers, ("fast", "slow")), "--mode", "put", "--stage",
                         "512MiB", "--steps", 10, tiers=tiers)["put"]
    for key, name, limit_s in (("free_s", "put into a free stage", 0.050),
                               ("full_s", "put into a full stage", 0.001)):
        times = put[key]
        if not times:
            raise Failed(f"{name}: never happened")
        yield Figure(name, f"{median(times) * 1e3:.3f} ms, at most {max(times) * 1e3:.3f} ms in "
                     f"{len(times)} puts of 64 MiB", f"median at most {limit_s * 1e3:.0f} ms",
                     median(times) <= limit_s)


def flood(bench):
    """Tiers so slow that the disk below them has plenty left for reads and writes at once."""
    tiers = bench.throttled(200, 100)
    found = bench.kvstream("bench", *tier_flags(tiers, ("fast", "slow")), "--mode", "flood",
                           "--chunks", 48, "--chunk-bytes", CHUNK, "--steps", 7, "--keep",
                           tiers=tiers)
    pairs = found["pairs"]
    low, high = pairs["ratio_interval"]
    yield Figure("reads under a write flood", f"{percent(pairs['ratio_median'])} of their speed, "
                 f"95 % interval {percent(low)} to {percent(high)}, "
                 f"{len(pairs['ours_bytes_per_second'])} pairs", "at least 90 %",
                 pairs["ratio_median"] >= 0.9 and found["missed_chunks"] == 0)


def writes(bench):
    yield from puts(bench)
    if not bench.quick:
        yield from flood(bench)


# ---- g: the index

def index(bench):
    rows = bench.micro("engine_index_bench", {"TMPDIR": str(bench.scratch)}, min_time=0.3)
    for name, what in (("LookUpInCore", "lookup"), ("LookUpInEngine", "lookup, public call")):
        ns = 1e9 / rows[name]["items_per_second"]
        yield Figure(what, f"{ns:.0f} ns a key, 1 M chunks", "at most 1000 ns", ns <= 1000)
    size = rows["LookUpInCore"]["index_bytes"]
    yield Figure("size", f"{size / MIB:.0f} MiB for 1 M chunks of 16 MiB", "at most 256 MiB",
                 size <= 256 * MIB)
    opened = next(row for name, row in rows.items() if name.startswith("OpenFromSnapshots"))
    yield Figure("open", f"{opened['real_time']:.0f} ms from snapshots of 1 M chunks",
                 "at most 1000 ms", opened["real_time"] <= 1000)


# ---- h: the simulator

def simulated(bench):
    seeds = 2000
    begin = time.monotonic()
    run(["ctest", "--test-dir", bench.build_folder, "-L", "sim", "--no-tests=error",
         "--output-on-failure"], env={**os.environ, "KVS_SIM_SEEDS": str(seeds)})
    seconds = time.monotonic() - begin
    yield Figure("", f"{seeds} seeds in {seconds:.1f} s, none failed", "2000 seeds within 60 s",
                 seconds <= 60)


# ---- i: recorded traces. (name, file, flags, reads must exceed writes)

TRACES = (
    ("mini-swe", "lmcache-agent-trace/miniswe_sessions_compact.jsonl",
     ("--order", "round-robin", "--chunk-bytes", "1MiB", "--host-cache", "32MiB"), True),
    ("ten WEKA sessions", "weka-kv-cache-tester/weka_sessions_compact.jsonl.gz",
     ("--sessions", "10", "--context-max", "131072", "--order", "round-robin", "--batch-tokens",
      "262144", "--chunk-bytes", "128KiB", "--host-cache", "32MiB"), True),
    ("2,000 Mooncake requests", "mooncake/conversation_trace.jsonl",
     ("--requests", "2000", "--chunk-tokens", "512", "--chunk-bytes", "64KiB", "--host-cache",
      "16MiB"), False),
)


def replay_case(bench, trace, flags):
    """A replay, and another one by a new process on the same tiers."""
    folder = bench.scratch / "replay"
    tier_flags_here = []
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        tier_flags_here += ["--tier", f"{name}={folder / name},capacity=3GiB"]
    work = ["--trace", trace, *flags, *tier_flags_here, "--stage", "256MiB", "--stage-full", "wait",
            "--forward", "constant=1ms"]
    first = bench.kvstream("replay", *work, "--keep")
    return first, bench.kvstream("replay", *work)


def traces(bench):
    folder = Path(os.environ.get("KVSTREAM_TRACES", bench.root.parent / "shared" / "traces"))
    if not folder.is_dir():
        raise Unavailable(f"no recorded traces in {folder}; KVSTREAM_TRACES names their folder")
    for name, file, flags, reads_exceed in TRACES:
        first, second = replay_case(bench, folder / file, flags)
        read, written = first["policies"][0]["bytes"], first["run"]["new_bytes"]
        dropped = first["run"]["writes"]["dropped_chunks"]
        again, missed = second["run"]["storage_hit_chunks"], second["run"]["missed_chunks"]
        yield Figure(
            name, f"{first['run']['requests']} requests, {read / GIB:.2f} GiB read, "
            f"{written / GIB:.2f} GiB written, 0 wrong bytes; after a restart {again} hits on "
            f"storage, {missed} misses",
            "reads at least writes, no miss after the restart" if reads_exceed else
            "no miss after the restart",
            (read >= written or not reads_exceed) and read > 0 and dropped == 0 and missed == 0
            and again > 0)


# ---- j: kill

def killed(bench):
    kills = 1 if bench.quick else 20
    said = run([sys.executable, "-B", bench.root / "tests" / "crash" / "crash_test.py", "--program",
                bench.program, "--kills", kills, "--directory", bench.scratch])
    lines = said.strip().splitlines()
    yield Figure("", f"{lines[-1].removeprefix('ok: ')} ({lines[0]})",
                 "no wrong byte, no temporary file, capacity kept")


def elsewhere(where):
    def measure(_):
        raise Unavailable(where)
    return measure


PROGRAM = ("kvstream_cli",)
POINTS = (
    Point("a", quiet, PROGRAM),
    Point("c", evicted, PROGRAM, False, "90 s"),
    Point("d", against_fio, PROGRAM, False, "2 minutes"),
    Point("e", cpu, PROGRAM + ("crc32c_bench",), False, "a minute"),
    Point("f", writes, PROGRAM),  # a quick run leaves the flood out
    Point("b", changing, PROGRAM, False, "5 minutes"),
    Point("g", index, ("engine_index_bench",)),
    Point("h", simulated, ("kvs_engine_sim_test",), False, "a minute"),
    Point("i", traces, PROGRAM, False, "2 minutes"),
    Point("j", killed, PROGRAM),
    Point("k", elsewhere("stages dev, clang, asan and tsan of .ci/run")),
    Point("l", elsewhere("by hand: docs/architecture.md")),
)
