"""What of the paper's runs kvsim is asked to repeat, and the programs that answer."""

import json
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

RUN_TIMEOUT_S = 900
# Of the machines: GPU, what of its memory KV has (Sec 6.1; less on Testbed-2, whose GPUs hold the
# weights too), and one rank's part of the node's link between host and GPUs (Table 2).
MACHINES = {"testbed1": ("H100", "35GB", "13.75GB/s"),
            "testbed2": ("A100-40GB", "auto", "6.25GB/s")}

# The systems of the paper as policies of kvsim: what --policy takes, then @ and what --write-timing
# takes if that is not the default. LMCache reads request by request and writes at once.
CPU_ONLY = "none"
LMCACHE = "serial@immediate"
BATCHED = "single@immediate"
DEFERRED = "single"
KVSTREAM = "kvstream"
SPLIT_READS = "static:70:30+full"
SPLIT_PLACED = "static:80:20"
# Static placements by what they store on the NVMe, and by what they read from it.
STORED = tuple(f"static:{share}:{100 - share}" for share in (60, 70, 80, 90))
PLACEMENTS = tuple(f"static:{share}:{100 - share}" for share in (27, 40, 55, 74))
FULL = "kvstream+full"
WHEN_SLOW = "kvstream+when-slow"
FRACTION = "kvstream+fraction:0.4"
WRITE_POLICIES = (FULL, WHEN_SLOW, FRACTION)

WORKLOADS = {"LooGLE": "builtin:loogle", "NarrativeQA": "builtin:narrativeqa",
             "CUAD": "builtin:cuad", "Qwen-Coder": "builtin:qwen-coder",
             "Chutes": "builtin:chutes", "SWE-bench": "builtin:swebench"}


class Failed(Exception):
    """kvsim did not answer."""


@dataclass(frozen=True)
class Scenario:
    """One `kvsim run`; its policies run side by side over one trace."""
    trace: str
    model: str = "32B"
    device: str = "testbed1"
    host_gb: int = 80
    tiers: tuple = ()  # instead of those of the device
    order: str = ""
    arrivals: str = ""
    nodes: int = 1
    policies: tuple = (CPU_ONLY, LMCACHE, KVSTREAM)

    def with_timing_of(self, policy):
        """The same with those of its policies that write when `policy` does."""
        timing = policy.partition("@")[2]
        same = tuple(each for each in self.policies if each.partition("@")[2] == timing)
        return replace(self, policies=same if policy in same else (policy,))

    def arguments(self):
        gpu, gpu_cache, link = MACHINES[self.device]
        line = ["--trace", self.trace, "--model", self.model, "--gpu", gpu, "--gpu-cache",
                gpu_cache, "--gpu-link", link, "--host-cache", f"{self.host_gb}GB", "--nodes",
                str(self.nodes)]
        line += [part for tier in self.tiers for part in ("--tier", tier)]
        line += [] if self.tiers else ["--device", self.device]
        line += ["--order", self.order] if self.order else []
        line += ["--arrivals", self.arrivals] if self.arrivals else []
        timing = self.policies[0].partition("@")[2]
        line += ["--write-timing", timing] if timing else []
        return line + [part for policy in self.policies
                       for part in ("--policy", policy.partition("@")[0])]


def offline(model, host_gb=80, workload="LooGLE"):
    return Scenario(WORKLOADS[workload], model, host_gb=host_gb)


def qwen(rate, host_gb=80, order="round-robin"):
    return Scenario(f"{WORKLOADS['Qwen-Coder']},rate={rate}", device="testbed2", host_gb=host_gb,
                    order=order, policies=(LMCACHE, KVSTREAM))


def chutes(rate, host_gb=40):
    return Scenario(f"{WORKLOADS['Chutes']},rate={rate}", device="testbed2", host_gb=host_gb,
                    policies=(LMCACHE, KVSTREAM))


ONLINE = {"Qwen-Coder": qwen(1.5), "Chutes": chutes(0.23)}
ONLINE_RATES = {"Qwen-Coder": (1.0, 1.5, 2.4), "Chutes": (0.18, 0.23, 0.32)}


def closed(scenario, policies):
    """The same work, all of it there from the start."""
    return replace(scenario, arrivals="closed", policies=policies)


# Fig 20 to 22: what the tiers delivered, φ = 0.55, not Table 2. The spread of both bandwidths was
# set once, so that the placement with g = 0.55 is 8 % above the bound; the other figures follow.
SPREAD = "load.shape=lognormal,load.step=10s,load.sigma=0.13"


def delivered(pfs_gb_per_s):
    return Scenario(WORKLOADS["LooGLE"], device="testbed2",
                    tiers=(f"nvme=5.5GB/s,{SPREAD}", f"pfs={pfs_gb_per_s}GB/s,{SPREAD}"),
                    policies=(KVSTREAM, *PLACEMENTS, *STORED))


def quiet():
    return delivered(4.5)


def loaded():
    """With φ = 0.62, as under steady load."""
    return delivered(3.37)


def recorded_runs():
    """Whose step logs write policies are replayed on: sessions that grow, and documents."""
    return (replace(qwen(1.5), policies=(KVSTREAM,)), replace(quiet(), policies=(KVSTREAM,)))


class Kvsim:
    """Runs the program once for each different question."""

    def __init__(self, program, log=lambda text: None):
        self.program, self.log = Path(program), log
        self.runs = {}

    def _text(self, *arguments):
        line = [str(self.program), *map(str, arguments)]
        self.log(" ".join(["kvsim", *line[1:]]))
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{' '.join(line)}: {error}") from None
        if done.returncode != 0:
            raise Failed(f"{' '.join(line)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def _json(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            self._text(*arguments, "--json", out)
            return json.loads(out.read_text())

    def _once(self, key, ask):
        if key not in self.runs:
            self.runs[key] = ask()
        return self.runs[key]

    def run(self, scenario):
        return self._once(scenario, lambda: self._json("run", *scenario.arguments()))

    def policy(self, scenario, policy):
        """The figures of one policy; those not in the scenario's list get a run of their own."""
        asked = scenario.with_timing_of(policy)
        return self.run(asked)["policies"][asked.policies.index(policy)]

    def device(self, name):
        return self._once(("device", name),
                          lambda: tomllib.loads(self._text("devices", name)))

    def replayed(self, scenario, policy):
        """A write policy on the step log of a run with one policy (the paper's Sec 6.6)."""
        def replay():
            with tempfile.TemporaryDirectory() as folder:
                log = Path(folder) / "steps.jsonl"
                self._text("run", *scenario.arguments(), "--step-log", log)
                flags = [part for name in WRITE_POLICIES for part in ("--policy", name)]
                return self._json("replay-log", log, *flags)
        return self._once(("log", scenario), replay)["policies"][WRITE_POLICIES.index(policy)]

    def setup(self, scenario):
        """What the program made of the machine's part of a scenario."""
        return self.run(scenario.with_timing_of(KVSTREAM))["setup"]

    def trace(self, source, order=""):
        """Figures of a trace for the 32B model, and its demand curve."""
        return self.run(Scenario(source, order=order, policies=(CPU_ONLY,)))

    def static_penalty(self, shares, bandwidths):
        """Eq. 6."""
        found = self._once(("model", shares, bandwidths), lambda: self._json(
            "model", "--split", ":".join(shares), "--read", ",".join(bandwidths)))
        return found["static_penalty"]
