"""Runs that submit a whole data set at once: Fig 2, 16, 17, 26, 34 and half of Table 4."""

from residuals.rules import fitted, input_ktok_per_s, predicted, rule
from residuals.scenarios import (BATCHED, CPU_ONLY, DEFERRED, KVSTREAM, LMCACHE, SPLIT_READS,
                                 Scenario, WORKLOADS, offline)

def on_cpu_only(value):
    return fitted(value, "the efficiencies were set by this system's throughput")


@rule("Fig 2", r"LooGLE Testbed-1 (\d+B) (.*)", "total_time")
def offline_minutes(kvsim, _, model, system):
    policy = kvsim.policy(offline(model), {"CPU-only": CPU_ONLY, "LMCache": LMCACHE}[system])
    answer = on_cpu_only if system == "CPU-only" else predicted
    return answer(policy["duration_s"] / 60)


@rule("Fig 1[67]", r"(LooGLE|NarrativeQA|CUAD) (?:Testbed-1 )?(\d+B) .*", "throughput")
def offline_throughput(kvsim, _, workload, model):
    scenario = offline(model, workload=workload)
    return predicted([input_ktok_per_s(kvsim.policy(scenario, policy))
                      for policy in scenario.policies],
                     "CPU-only: fitted" if workload == "LooGLE" else "",
                     fitted_first=1 if workload == "LooGLE" else 0)


@rule("Fig 34", r"LooGLE, 32B, Testbed-1, (\d+) GB per rank, (LMCache|KVStream)", "throughput")
def offline_memory(kvsim, _, host_gb, system):
    policy = {"LMCache": LMCACHE, "KVStream": KVSTREAM}[system]
    return predicted(input_ktok_per_s(kvsim.policy(offline("32B", int(host_gb)), policy)))


OFFLINE_COLUMNS = {
    "CPU-only": CPU_ONLY, "LMCache": LMCACHE, "LMCache + M1 batched reads": BATCHED,
    "+ M2 deferred writes": DEFERRED,
    "+ second tier replicated, fixed 70:30 read split": SPLIT_READS,
    "+ M4 completion-driven routing": KVSTREAM}


def offline_column(kvsim, column):
    return 1e3 * input_ktok_per_s(kvsim.policy(offline("70B"), OFFLINE_COLUMNS[column]))


@rule("Table 4", "offline, 70B, LooGLE, Testbed-1: (.*)", "throughput")
def offline_ablation(kvsim, _, column):
    answer = on_cpu_only if column == "CPU-only" else predicted
    return answer(offline_column(kvsim, column))


@rule("Table 4", "offline, ratios .*", "throughput_ratio")
def offline_ratios(kvsim, _):
    values = [offline_column(kvsim, column) for column in OFFLINE_COLUMNS]
    return predicted([value / values[0] for value in values])


@rule("Fig 26", r"NarrativeQA 32B Testbed-2 (\d) nodes .*", "throughput")
def scaling(kvsim, _, nodes):
    source = f"{WORKLOADS['NarrativeQA']},documents={84 * int(nodes)}"
    scenario = Scenario(source, device="testbed2", nodes=int(nodes))
    return predicted([input_ktok_per_s(kvsim.policy(scenario, policy))
                      for policy in scenario.policies], "as if each node had a data set of its own")
