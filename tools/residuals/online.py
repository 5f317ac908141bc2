"""Runs with arrivals on Testbed-2: Fig 9, 10, 24, 35, Sec 5.1 and half of Table 4."""

from residuals.rules import predicted, reads_gb, rule, ttft_s, written_gb
from residuals.scenarios import (BATCHED, CPU_ONLY, DEFERRED, KVSTREAM, LMCACHE, SPLIT_PLACED,
                                 WORKLOADS, chutes, qwen)

GPU_MEMORY = 20e9  # bytes of KV on one A100-40GB beside the weights of 32B
ORDERS = {"cache-friendly": "sequential", "random": "interleave", "round-robin": "round-robin"}
ONLINE_COLUMNS = {
    "CPU-only": CPU_ONLY, "LMCache": LMCACHE, "LMCache + M1 batched reads": BATCHED,
    "+ M2 deferred writes": DEFERRED,
    "+ second tier, each chunk on one tier, 80:20 by prefix position, no replication":
        SPLIT_PLACED,
    "+ M3 replication and M4 routing": KVSTREAM}


def online_column(kvsim, column):
    return ttft_s(kvsim.policy(qwen(2.4), ONLINE_COLUMNS[column]))


@rule("Table 4", r"online, 32B, Qwen-Coder round-robin, 2.4 req/s, Testbed-2: (.*)", "mean_ttft")
def online_ablation(kvsim, _, column):
    return predicted(online_column(kvsim, column))


@rule("Table 4", "online, ratios .*", "mean_ttft_ratio")
def online_ratios(kvsim, _):
    values = [online_column(kvsim, column) for column in ONLINE_COLUMNS]
    return predicted([values[0] / value for value in values])


def online(workload, rate, host_gb):
    scenario = qwen if workload == "Qwen-Coder" else chutes
    return scenario(float(rate), int(host_gb))


@rule("Fig (?:9|35)", r"(Qwen-Coder|Chutes) medium ([\d.]+) req/s (\d+) GB per rank "
      "(LMCache|KVStream)", "mean_ttft")
def medium_ttft(kvsim, _, workload, rate, host_gb, system):
    policy = {"LMCache": LMCACHE, "KVStream": KVSTREAM}[system]
    return predicted(ttft_s(kvsim.policy(online(workload, rate, host_gb), policy)))


@rule("Fig 9", r"(Qwen-Coder|Chutes) medium ([\d.]+) req/s (\d+) GB per rank",
      "storage_reads_per_rank")
def medium_reads(kvsim, _, workload, rate, host_gb):
    return predicted(reads_gb(kvsim.policy(online(workload, rate, host_gb), LMCACHE)))


@rule("Fig 10 left", r"Qwen-Coder 2.4 req/s 80 GB per rank (\S+) LMCache", "mean_ttft")
def ttft_by_order(kvsim, _, order):
    return predicted(ttft_s(kvsim.policy(qwen(2.4, order=ORDERS[order]), LMCACHE)))


@rule("Fig 10 right", r"Qwen-Coder round-robin ([\d.]+) req/s LMCache", "mean_ttft")
def ttft_by_rate(kvsim, _, rate):
    return predicted(ttft_s(kvsim.policy(qwen(float(rate)), LMCACHE)))


@rule("Sec 5.1", "(Chutes|Qwen-Coder round-robin)", "(median_)?reuse_distance_per_rank")
def reuse_distance(kvsim, _, setting):
    workload, *order = setting.split(" ")
    found = kvsim.trace(WORKLOADS[workload], *order)
    return predicted(median_distance_gb(found["demand_curve"]["points"], GPU_MEMORY),
                     "median of the reuses that 20 GB of GPU memory do not catch (Eq. 2)")


def median_distance_gb(points, memory_bytes):
    """Where half of the reuses miss that miss with `memory_bytes`, between points of the curve."""
    half = next(p["miss_ratio"] for p in points if p["memory_bytes"] >= memory_bytes) / 2
    for before, after in zip(points, points[1:]):
        if before["miss_ratio"] >= half > after["miss_ratio"]:
            part = (before["miss_ratio"] - half) / (before["miss_ratio"] - after["miss_ratio"])
            span = after["memory_bytes"] - before["memory_bytes"]
            return (before["memory_bytes"] + part * span) / 1e9
    raise LookupError("no capacity at which half of the reuses miss")


@rule("Fig 24", r"(Qwen|Chutes) (.*)")
def speedup_by_reads(kvsim, _, workload, what):
    scenario = (qwen(2.4, order=ORDERS[what]) if workload == "Qwen"
                else chutes(0.23, int(what.split(" ")[0])))
    slow, fast = (kvsim.policy(scenario, policy) for policy in (LMCACHE, KVSTREAM))
    return predicted([reads_gb(fast) / written_gb(fast), ttft_s(slow) / ttft_s(fast)])
