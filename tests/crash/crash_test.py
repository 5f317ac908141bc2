#!/usr/bin/env python3
"""Kills a replay with SIGKILL at random moments and checks what the next one finds.

    crash_test.py --program build/dev/src/cli/kvstream [--kills 3] [--seed N] [--directory DIR]

Each round starts a replay that reads, writes and evicts on two tiers, kills it at a moment drawn
from the seed, and lets a second replay finish on the same tiers. Checked: the second run opens the
tiers and compares every byte it reads; afterwards no temporary file is left; each tier's files,
temporary ones included, are within its capacity right after the kill and at the end. The last line
says how much of it was exercised; too little fails as well.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MIB = 1 << 20
# Half and two thirds of the trace's chunks fit, so every run writes and evicts.
CAPACITY_MIB = {"fast": 40, "slow": 56}
WORK = ["--trace", "builtin:agent,sessions=8,turns=10", "--order", "round-robin",
        "--chunk-bytes", "256KiB", "--host-cache", "2MiB", "--batch-requests", "2",
        "--forward", "constant=20ms", "--stage", "16MiB", "--keep"]
CONTROL_FOLDER = ".kvstream"  # marker, lock and snapshot, which capacity does not count
RUN_TIMEOUT_S = 300
ATTEMPTS_PER_KILL = 30  # a run may end before its moment has come; each attempt comes earlier


class Failure(Exception):
    pass


class Tiers:
    def __init__(self, root):
        self.folders = {name: root / name for name in CAPACITY_MIB}
        for folder in self.folders.values():
            folder.mkdir()

    def flags(self):
        for name, folder in self.folders.items():
            # Slow enough for a kill to find files half written.
            yield "--tier"
            yield (f"{name}={folder},capacity={CAPACITY_MIB[name]}MiB,limit=400MiB/s,"
                   "write-limit=60MiB/s")

    def files(self, pattern):
        return [path for folder in self.folders.values() for path in folder.rglob(pattern)]

    def check_capacity(self, when):
        for name, folder in self.folders.items():
            used = sum(path.stat().st_size for pattern in ("*.kv", "*.tmp")
                       for path in folder.rglob(pattern) if CONTROL_FOLDER not in path.parts)
            if used > CAPACITY_MIB[name] * MIB:
                raise Failure(f"{when}: tier {name} uses {used} of "
                              f"{CAPACITY_MIB[name] * MIB} bytes")


def start(program, tiers):
    return subprocess.Popen([program, "replay", *WORK, *tiers.flags()],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def kill_after(program, tiers, delay_s):
    """Runs a replay, kills it after the delay. False if it had ended by itself."""
    with start(program, tiers) as process:
        try:
            _, errors = process.communicate(timeout=delay_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
    if process.returncode != 0:
        raise Failure(f"exit {process.returncode} before the kill: {errors}")
    return False


def run_to_the_end(program, tiers):
    """Returns the summary and the seconds of a replay that nobody disturbs."""
    begin = time.monotonic()
    result = subprocess.run([program, "replay", *WORK, *tiers.flags(), "--json", "-"],
                            capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
    if result.returncode != 0:
        raise Failure(f"exit {result.returncode} after a kill: {result.stderr}")
    summary = json.loads(result.stdout)
    corrupt = sum(tier["corrupt_blocks"] for tier in summary["engine"]["tiers"])
    if corrupt != 0:
        raise Failure(f"{corrupt} blocks of published files do not match their checksums")
    return summary, time.monotonic() - begin


def one_round(program, tiers, random_source, run_s):
    for _ in range(ATTEMPTS_PER_KILL):
        delay_s = random_source.uniform(0, run_s)
        if kill_after(program, tiers, delay_s):
            break
        run_s /= 2  # the run before was slower than this one: the machine decides, not the engine
    else:
        raise Failure(f"no run of {ATTEMPTS_PER_KILL} lasted until its kill")
    tiers.check_capacity("after the kill")
    files, temporary = len(tiers.files("*.kv")), len(tiers.files("*.tmp"))
    summary, run_s = run_to_the_end(program, tiers)
    left = tiers.files("*.tmp")
    if left:
        raise Failure(f"{len(left)} temporary files are left, for example {left[0]}")
    tiers.check_capacity("after the next run")
    print(f"killed after {delay_s:.3f} s: {files} files, {temporary} temporary; then "
          f"{summary['run']['storage_hit_chunks']} hits, "
          f"{summary['policies'][0]['bytes'] // MIB} MiB compared", flush=True)
    return temporary, summary["policies"][0]["bytes"], run_s


def run(program, root, kills, seed):
    random_source = random.Random(seed)
    tiers = Tiers(root)
    _, run_s = run_to_the_end(program, tiers)
    temporary, compared = 0, 0
    for _ in range(kills):
        found, read, run_s = one_round(program, tiers, random_source, run_s)
        temporary += found
        compared += read
    if compared == 0:
        raise Failure("nothing was read after the kills")
    if kills >= 10 and temporary == 0:
        raise Failure("no kill met a write: the test exercises nothing")
    print(f"ok: {kills} kills, {temporary} temporary files swept, {compared // MIB} MiB compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, printed")
    parser.add_argument("--directory", help="for the tiers; default: the system's temporary one")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kvs_crash_", dir=options.directory) as folder:
        try:
            run(options.program, Path(folder), options.kills, seed)
        except (Failure, subprocess.TimeoutExpired) as failure:
            print(f"failed (seed {seed}): {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
