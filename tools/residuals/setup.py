"""Tables 2 and 3, the setup, Fig 1 and Fig 7: mostly what kvsim is given."""

import re

from residuals.rules import fitted, given, none, predicted, rule
from residuals.scenarios import KVSTREAM, ONLINE, ONLINE_RATES, WORKLOADS, closed, offline, qwen

GIB = 1 << 30
TRANSFER_GB = 1024  # of Fig 7
CHUNK_TOKENS = 256

BANDWIDTH = re.compile(r"([\d.]+)GB/s")


def gb_per_s(text):
    return float(BANDWIDTH.fullmatch(text).group(1))


def device_tier(kvsim, device, name):
    return next(tier for tier in kvsim.device(device)["tier"] if tier["name"] == name)


def testbed(number):
    return f"testbed{number}"


@rule("Table 2", metric="host_mem|pfs")
def machine_fact(*_):
    return none("a fact of the machine that no prediction needs")


@rule("Table 2", metric="gpus")
def gpus(*_):
    return given(None, "four ranks of the GPU preset of this name")


@rule("Table 2", r"Testbed-(\d)", "d2h_h2d_bw")
def gpu_link(kvsim, _, number):
    link = kvsim.setup(offline("70B") if number == "1" else qwen(1.5))["gpu_link"]
    return given(4 * link / 1e9, "a fourth of it for each rank")


@rule("Table 2", r"Testbed-(\d)", "(nvme|pfs)_(read|write)_bw")
def tier_bandwidth(kvsim, entry, number):
    tier, direction, _ = entry["metric"].split("_")
    return given(gb_per_s(device_tier(kvsim, testbed(number), tier)[direction]), "device file")


def kv_bytes_per_token(kvsim, model):
    """All four ranks together."""
    return 4 * kvsim.setup(offline(model))["chunk_bytes"] / CHUNK_TOKENS


@rule("Table 3", r"(\d+B) .*")
def model_kv(kvsim, entry, model):
    per_token = kv_bytes_per_token(kvsim, model)
    whole = {"kv_per_token_all_ranks": per_token / 1024,
             "kv_per_chunk_256tok": per_token * CHUNK_TOKENS / (1 << 20)}
    return given(whole[entry["metric"]], "model preset")


@rule(r"Setup \(Sec 6.1\)", metric="tp_degree|chunk_tokens|host_cache_per_rank|"
      "rates_low_med_high")
def setup_input(_, entry):
    return given(entry["value"], "said on the command line")


@rule(r"Setup \(Sec 6.1\)", metric="gpu_kv_budget")
def gpu_budget(kvsim, _):
    budgets = [4 * kvsim.setup(scenario)["gpu_cache_bytes"] / 1e9
               for scenario in (offline("70B"), qwen(1.5))]
    return given(budgets[0], f"on Testbed-1; {budgets[1]:.0f} GB on Testbed-2, 90 % of the GPUs "
                 "less the weights")


@rule(r"Setup \(Sec 6.1\)", "(Qwen-Coder|Chutes)", "node_capacity_with_KVStream")
def capacity(kvsim, _, workload):
    return predicted(node_capacity(kvsim, workload), "all requests at once, kvstream")


def node_capacity(kvsim, workload):
    scenario = closed(ONLINE[workload], (KVSTREAM,))
    return kvsim.policy(scenario, KVSTREAM)["requests_per_s"]


@rule(r"Setup \(Sec 6.1\)", metric=re.escape("rho/(1-rho) low, med, high"))
def waiting_factors(kvsim, _):
    factors = []
    for rates in zip(*(ONLINE_RATES[name] for name in ONLINE)):
        loads = [rate / node_capacity(kvsim, name) for rate, name in zip(rates, ONLINE)]
        factors.append(sorted(load / (1 - load) if load < 1 else float("inf") for load in loads))
    return predicted(factors, "rates over the capacities predicted above")


def trace_figures(kvsim, workload):
    return kvsim.trace(WORKLOADS[workload])["trace"]


@rule(r"Setup \(Sec 6.1\)", f"({'|'.join(WORKLOADS)})", "workload")
def workload_shape(kvsim, entry, workload):
    trace = trace_figures(kvsim, workload)
    known = {"requests": trace["requests"], "sessions": trace["sessions"],
             "input_tokens": trace["input_tokens"], "unique_blocks": trace["unique_chunks"],
             "mean_input": trace["input_tokens"] / trace["requests"],
             "mean_output": trace["output_tokens"] / trace["requests"]}
    wanted = {key: known[key] for key in entry["value"] if key in known}
    return given(wanted, "the generator was made to these figures")


@rule(r"Setup \(Sec 6.1\)", metric="prefix_hit_share_of_prompt_tokens")
def reuse_range(kvsim, _):
    shares = [trace_figures(kvsim, workload)["reuse"] for workload in WORKLOADS]
    return predicted([min(shares), max(shares)], "share of chunk accesses, all six generators")


@rule("Fig 1", r"(.*) (\d+B)")
def working_set(kvsim, _, workload, model):
    chunks = trace_figures(kvsim, workload)["unique_chunks"]
    return fitted(chunks * CHUNK_TOKENS * kv_bytes_per_token(kvsim, model) / GIB,
                  "the generator's number of chunks was set by this figure")


# ---- Fig 7: the device model in closed form

@rule("Fig 7", r"Testbed-(\d) (NVMe|PFS) (read|write) 1 TB")
def transfer_time(kvsim, _, number, tier, direction):
    bandwidth = gb_per_s(device_tier(kvsim, testbed(number), tier.lower())[direction])
    return predicted(TRANSFER_GB / bandwidth, "1,024 GB over the device file's bandwidth")


@rule("Fig 7", r"Testbed-(\d) (NVMe|PFS) read 0.5 TB and write 0.5 TB at once")
def mixed_time(kvsim, _, number, tier):
    model = device_tier(kvsim, testbed(number), tier.lower())
    apart = sum(TRANSFER_GB / 2 / gb_per_s(model[way]) for way in ("read", "write"))
    return predicted(apart * (1 + model.get("interference", 0)),
                     "(1 + interference) × times apart")


@rule(r"Fig 7 \(Sec 3, O3\)", r"Testbed-(\d)", "nvme_over_pfs_read_ratio")
def read_ratio(kvsim, _, number):
    nvme, pfs = (gb_per_s(device_tier(kvsim, testbed(number), tier)["read"])
                 for tier in ("nvme", "pfs"))
    return predicted(nvme / pfs, "device file")


@rule(r"Fig 7 \(Sec 3, O3\)", r"Testbed-(\d) NVMe", "rw_interference")
def interference(kvsim, _, number):
    return given(device_tier(kvsim, testbed(number), "nvme")["interference"], "device file")
