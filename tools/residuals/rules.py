"""Rules: which question to kvsim answers which of the paper's values."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What kvsim has beside a value of the paper."""
    kind: str  # "predicted", "fitted", "input", "none"
    value: object = None  # a number, or a list or a dict of the same shape as the paper's
    remark: str = ""
    fitted_first: int = 0  # of a predicted list, so many at its front were fitted on


def predicted(value, remark="", fitted_first=0):
    return Outcome("predicted", value, remark, fitted_first)


def fitted(value, remark):
    return Outcome("fitted", value, remark)


def given(value, remark):
    return Outcome("input", value, remark)


def none(reason):
    return Outcome("none", None, reason)


@dataclass(frozen=True)
class Rule:
    ref: re.Pattern
    setting: re.Pattern
    metric: re.Pattern
    ask: object  # (kvsim, entry, *groups of setting) -> Outcome

    def groups(self, entry):
        """The groups of its setting if the rule is for this entry, else None."""
        matches = [pattern.fullmatch(entry[key]) for key, pattern in
                   (("ref", self.ref), ("metric", self.metric), ("setting", self.setting))]
        return matches[-1].groups() if all(matches) else None


RULES = []


def rule(ref, setting=".*", metric=".*"):
    def register(ask):
        RULES.append(Rule(re.compile(ref), re.compile(setting), re.compile(metric), ask))
        return ask
    return register


def outcome(kvsim, entry):
    """Asks the one rule that is for this entry. LookupError if none or several are."""
    found = [(each, groups) for each in RULES if (groups := each.groups(entry)) is not None]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rules for {entry['ref']}, {entry['setting']}, "
                          f"{entry['metric']}")
    (each, groups), = found
    return each.ask(kvsim, entry, *groups)


# ---- figures of one policy's run

def ttft_s(policy):
    return policy["ttft_s"]["mean"]


def input_ktok_per_s(policy):
    return policy["input_tokens_per_s"] / 1e3


def reads_gb(policy):
    return policy["demand_bytes"] / 1e9


def written_gb(policy):
    return sum(tier["written_bytes"] for tier in policy["tiers"]) / 1e9


def share_of_first(policy):
    """g: what of the storage reads the first tier served."""
    first, *rest = (tier["read_bytes"] for tier in policy["tiers"])
    return first / (first + sum(rest))
