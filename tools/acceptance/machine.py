"""What a point runs on: the build, scratch space, throttled tiers, the program."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

IMAGE_MIB = 3584
TIER_CAPACITY = "3300MiB"
PROGRAM_TIMEOUT_S = 900
STOP_TIMEOUT_S = 20


class Failed(Exception):
    """Something that must work does not."""


class Unavailable(Exception):
    """This machine cannot measure the point; the message says why."""


def stop(process):
    """Ends the process and all it started: as Ctrl-C would, then without asking."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=STOP_TIMEOUT_S)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
    raise Failed(f"process {process.pid} does not end")


def run(command, **options):
    """Runs a command to its end; Failed with what it said last if it fails."""
    name = f"{Path(str(command[0])).name} {command[1]}"
    with subprocess.Popen([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True, **options) as process:
        try:
            output, errors = process.communicate(timeout=PROGRAM_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            stop(process)
            raise Failed(f"{name}: not done after {PROGRAM_TIMEOUT_S} s") from None
        except BaseException:
            stop(process)
            raise
    if process.returncode != 0:
        said = (errors.strip() or output.strip()).splitlines()
        telling = [line for line in output.splitlines() + said if "error: " in line] or said[-3:]
        raise Failed(f"{name}: exit {process.returncode}: " + "; ".join(telling[:3]))
    return output


def build(root, targets):
    """Builds the targets as users get them (preset release) and returns the build directory."""
    folder = root / "build" / "accept"
    if targets:
        # At -O3 g++ 12 takes string concatenations for overlaps (its bug 105651).
        run(["cmake", "--preset", "release", "-B", folder, "-DKVSTREAM_DEVELOPER_MODE=ON",
             "-DCMAKE_CXX_FLAGS=-Wno-restrict"], cwd=root)
        run(["cmake", "--build", folder, "--target", *targets], cwd=root)
    return folder


class ThrottledTiers:
    """Two file systems whose bandwidth the kernel limits; see bench/throttled_tiers.sh."""

    def __init__(self, root, folder):
        self.script = root / "bench" / "throttled_tiers.sh"
        self.folder = folder
        run([self.script, "up", folder, IMAGE_MIB, 0, 0])

    @staticmethod
    def reason_against():
        if os.geteuid() != 0:
            return "throttled tiers need root"
        for needed, path in (("cgroup v1 blkio", "/sys/fs/cgroup/blkio"),
                             ("loop devices", "/dev/loop-control")):
            if not Path(path).exists():
                return f"throttled tiers need {needed}"
        missing = [name for name in ("losetup", "mkfs.ext4", "lsblk") if not shutil.which(name)]
        return f"throttled tiers need {missing[0]}" if missing else None

    def path(self, tier):
        return self.folder / f"t{tier}"

    def set_rate(self, tier, mib_per_s):
        run([self.script, "rate", self.folder, tier, mib_per_s])

    def set_rates(self, *mib_per_s):
        for tier, rate in enumerate(mib_per_s):
            self.set_rate(tier, rate)

    def command(self, *arguments):
        return [self.script, "run", self.folder, *arguments]

    def down(self):
        run([self.script, "down", self.folder])


class ChangingRate:
    """While entered, gives a tier the next rate of a cycle at every full second of the wall clock.

    The rate in force is a function of the wall clock, so runs that start at multiples of the
    cycle's length meet the same schedule.
    """

    def __init__(self, tiers, tier, cycle):
        self.tiers, self.tier, self.cycle = tiers, tier, cycle
        self.stopping = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            while True:
                self.tiers.set_rate(self.tier, self.cycle[int(time.time()) % len(self.cycle)])
                if self.stopping.wait(1 - time.time() % 1):
                    return
        except (Failed, OSError) as failure:
            self.failure = failure

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopping.set()
        self.thread.join()
        if self.failure and kind is None:
            raise Failed(f"changing the limit: {self.failure}")


class Bench:
    """Scratch space with what the points share, removed at exit however it comes."""

    def __init__(self, root, build_folder, scratch_parent, quick):
        self.root, self.build_folder, self.quick = root, build_folder, quick
        parent = Path(scratch_parent) if scratch_parent else root / "build"
        parent.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="accept.", dir=parent))
        self.program = build_folder / "src" / "cli" / "kvstream"
        self._tiers = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave mounts behind
        if self._tiers:
            self._tiers.down()
        shutil.rmtree(self.scratch)

    def log(self, text):
        print(text, file=sys.stderr, flush=True)

    def throttled(self, *rates_mib_per_s):
        """The throttled tiers at these rates, made at the first call."""
        reason = ThrottledTiers.reason_against()
        if reason:
            raise Unavailable(reason)
        if self._tiers is None:
            folder = self.scratch / "tiers"
            try:
                self._tiers = ThrottledTiers(self.root, folder)
            except BaseException:
                run([self.root / "bench" / "throttled_tiers.sh", "down", folder])
                raise
        self._tiers.set_rates(*rates_mib_per_s)
        return self._tiers

    def kvstream(self, command, *arguments, tiers=None):
        """Runs the program, under the throttle if tiers are given, and returns its JSON."""
        out = self.scratch / "summary.json"
        out.unlink(missing_ok=True)
        line = [self.program, command, *arguments, "--json", out]
        run(tiers.command(*line) if tiers else line)
        return json.loads(out.read_text())

    def micro(self, program, environment=None, **flags):
        """Runs a micro-benchmark and returns its rows by name."""
        line = [self.build_folder / "bench" / program, "--benchmark_format=json"]
        line += [f"--benchmark_{name}={value}" for name, value in flags.items()]
        report = json.loads(run(line, env={**os.environ, **(environment or {})}))
        return {row["name"]: row for row in report["benchmarks"]}
