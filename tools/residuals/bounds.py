"""The bound, static placements and write policies: Sec 5.2, Fig 20 to 22, Sec 6.6."""

import re

from residuals.rules import fitted, given, predicted, rule, share_of_first
from residuals.scenarios import (FRACTION, FULL, KVSTREAM, PLACEMENTS, SPLIT_PLACED, STORED,
                                 WHEN_SLOW, loaded, quiet, qwen, recorded_runs)


@rule("Sec 5.2", r"(\d+):(\d+) split, NVMe ([\d.]+), PFS ([\d.]+)", "static_time_over_bound")
def static_penalty(kvsim, _, first, second, nvme, pfs):
    return predicted(kvsim.static_penalty((first, second), (nvme, pfs)), "Eq. 6")


BEST_PLACEMENT = "static:55:45"


def placements(kvsim, scenario):
    return [kvsim.policy(scenario, placement) for placement in PLACEMENTS]


def by_eq_6(share, phi):
    return max(share / phi, (1 - share) / (1 - phi))


@rule("Fig 20", "LooGLE 32B Testbed-2, 17 runs", "static_gap_prediction_error")
def eq_6_error(kvsim, _):
    errors = [abs(by_eq_6(share_of_first(run), run["phi"]["mean"]) - 1 - run["gap"])
              for run in placements(kvsim, quiet())]
    return predicted(max(errors), "Eq. 6 from a run's mean φ and g against its gap, 4 placements")


@rule("Fig 20", "KVStream", "gap_to_bound_max")
def quiet_gap(kvsim, _):
    return predicted(kvsim.policy(quiet(), KVSTREAM)["gap"], "no chunk has a service time of its "
                     "own in kvsim beyond bandwidth and latency")


@rule("Fig 21", "static", "(min|max)_gap")
def static_gap(kvsim, entry):
    gaps = [run["gap"] for run in placements(kvsim, quiet())]
    if entry["metric"] == "min_gap":
        return fitted(min(gaps), "the spread of the bandwidths was set by this figure")
    return predicted(max(gaps))


@rule(re.escape("Fig 21 (Sec 6.4)"), "static 60-90% stored on NVMe", "nvme_share_g_of_reads")
def stored_and_read(kvsim, _):
    shares = [share_of_first(kvsim.policy(quiet(), placement)) for placement in STORED]
    return predicted([min(shares), max(shares)],
                     "memory holds whole prefixes in kvsim, in the runs rather their heads")


@rule(re.escape("Fig 21 (Sec 6.4)"), "static placements", "share_of_prefix_stored_on_nvme")
def stored(*_):
    return given([0.6, 0.9], "the rows on gaps take placements that read g = 0.27 to 0.74")


@rule(re.escape("Fig 21 (Sec 6.4)"), "KVStream vs best/worst static", "throughput_gain")
def gain_over_static(kvsim, _):
    ours = kvsim.policy(quiet(), KVSTREAM)["input_tokens_per_s"]
    gains = [ours / run["input_tokens_per_s"] - 1 for run in placements(kvsim, quiet())]
    return predicted([min(gains), max(gains)])


@rule(re.escape("Fig 22 (Sec 6.4)"), metric="mean_phi")
def mean_phi(kvsim, entry):
    scenario = quiet() if entry["setting"].startswith("quiet") else loaded()
    return given(kvsim.policy(scenario, KVSTREAM)["phi"]["mean"],
                 "follows from the delivered bandwidths that the run is given")


@rule(re.escape("Fig 22 (Sec 6.4)"), "static g = 0.55 while fio loads .*", "gap")
def static_gap_under_load(kvsim, _):
    gap = kvsim.policy(loaded(), BEST_PLACEMENT)["gap"]
    return predicted([gap, gap], "steady load only; the loads of fio are not published")


@rule(re.escape("Fig 22 (Sec 6.4)"), "KVStream while fio loads .*", "gap_to_bound_max")
def gap_under_load(kvsim, _):
    return predicted(kvsim.policy(loaded(), KVSTREAM)["gap"], "steady load only")


# ---- Sec 6.6

@rule(re.escape("Table 4 (Sec 6.6)"), "online (static split|KVStream)")
def online_split(kvsim, entry, system):
    run = kvsim.policy(qwen(2.4), SPLIT_PLACED if system == "static split" else KVSTREAM)
    share, phi = share_of_first(run), run["phi"]["mean"]
    if entry["metric"].startswith("pfs_share"):
        return predicted([1 - share, 1 - phi])
    if isinstance(entry["value"], list):
        return predicted([1 + run["gap"], by_eq_6(share, phi)])
    return predicted(1 + run["gap"])


POLICY_NAMES = {"replicate on slow": WHEN_SLOW, "fixed 40% replicated": FRACTION,
                "full replication on two tiers": FULL}


@rule("Sec 6.6, policies replayed in kvsim", f"({'|'.join(POLICY_NAMES)})")
def write_policy(kvsim, entry, name):
    figure = "write_amplification" if entry["metric"] == "write_amplification" else "gap"
    qwen_like, loogle_like = (kvsim.replayed(run, POLICY_NAMES[name])[figure]
                              for run in recorded_runs())
    if isinstance(entry["value"], list):
        return predicted(sorted((qwen_like, loogle_like)), "LooGLE-like and Qwen-like run")
    value = max(qwen_like, loogle_like) if figure == "gap" else (qwen_like + loogle_like) / 2
    return predicted(value, f"Qwen-like {qwen_like:.3g}, LooGLE-like {loogle_like:.3g}")
