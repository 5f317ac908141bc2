#include "kvsim/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/format.h"

namespace kvstream::kvsim {
namespace {

constexpr double kPays = 0.05;
constexpr double kNoise = 0.01;
constexpr double kHidden = 0.01;
constexpr double kSaturated = 0.95;

std::string Percent(double fraction) { return fmt::format("{:.0f} %", fraction * 100); }

double PrefillSeconds(const sim::TimeShares& time) { return time.total_s() - time.decode_s; }

// What `now` saves of `before`.
double Saving(double before, double now) { return before > 0 ? 1 - now / before : 0; }

const PolicyRun* FindAlone(std::span<const PolicyRun> runs) {
  const PolicyRun* serial = nullptr;
  for (const PolicyRun& run : runs) {
    if (!run.policy.has_storage || run.tier_names.size() != 1) continue;
    if (!run.policy.storage.serial) return &run;
    if (serial == nullptr) serial = &run;
  }
  return serial;
}

const PolicyRun* FindTogether(std::span<const PolicyRun> runs) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [](const auto& run) { return run.tier_names.size() > 1; });
  return found == runs.end() ? nullptr : &*found;
}

std::string AnswerFor(double gain) {
  if (gain >= kPays) return "yes";
  if (gain >= kNoise) return "a little";
  return gain > -kNoise ? "no" : "it loses";
}

std::string OtherTiers(const PolicyRun& alone, const PolicyRun& together) {
  std::vector<std::string> others;
  for (const std::string& name : together.tier_names) {
    if (name != alone.tier_names[0]) others.push_back(name);
  }
  return fmt::format("{}", fmt::join(others, " and "));
}

std::string DescribeMetric(const sim::Summary& alone, const sim::Summary& together, bool by_ttft) {
  if (by_ttft) {
    return fmt::format("mean TTFT is {} instead of {}", cli::FormatSeconds(together.ttft_s.mean),
                       cli::FormatSeconds(alone.ttft_s.mean));
  }
  return fmt::format("throughput is {:.3g} instead of {:.3g} requests/s", together.requests_per_s,
                     alone.requests_per_s);
}

std::string DescribeWrites(const Verdict& verdict, const sim::Summary& together) {
  const std::string amount =
      fmt::format("{:.2f} copies are written of each new chunk", together.write_amplification);
  if (verdict.write_wait_share < kHidden) return "Writes stay hidden; " + amount + ".";
  return fmt::format("Prefill steps wait {} of their time for writes; {}.",
                     Percent(verdict.write_wait_share), amount);
}

std::string Write(const Verdict& verdict, const PolicyRun& alone, const PolicyRun& together,
                  bool by_ttft) {
  const sim::Summary& before = alone.results.summary;
  const sim::Summary& now = together.results.summary;
  std::string answer = verdict.answer;
  answer[0] = static_cast<char>(answer[0] - 'a' + 'A');
  std::string text = fmt::format(
      "Does {} pay as {} beside {}? {}: with {} against {}, {} ({}{}); retrieval takes {} less "
      "time. ",
      OtherTiers(alone, together),
      together.tier_names.size() == 2 ? "a second tier" : "further tiers", alone.tier_names[0],
      answer, verdict.together, verdict.alone, DescribeMetric(before, now, by_ttft),
      verdict.gain >= 0 ? "better by " : "worse by ", Percent(std::abs(verdict.gain)),
      Percent(verdict.retrieval_saving));
  if (before.demand_bytes == 0) {
    return text + "Nothing is read from storage: what is reused fits into GPU and host memory.";
  }
  if (verdict.saturated) {
    text += fmt::format(
        "{} is busy {} of the time, so TTFT is mostly queueing and throughput "
        "decides; a lower --rate or more --nodes would show TTFT. ",
        verdict.alone, Percent(before.utilisation));
  }
  return text + DescribeWrites(verdict, now);
}

}  // namespace

std::optional<Verdict> Judge(std::span<const PolicyRun> runs, bool online) {
  const PolicyRun* const alone = FindAlone(runs);
  const PolicyRun* const together = FindTogether(runs);
  if (alone == nullptr || together == nullptr) return std::nullopt;
  const sim::Summary& before = alone->results.summary;
  const sim::Summary& now = together->results.summary;
  Verdict verdict;
  verdict.alone = alone->policy.label;
  verdict.together = together->policy.label;
  verdict.saturated = online && before.utilisation > kSaturated;
  const bool by_ttft = online && !verdict.saturated;
  verdict.metric = by_ttft ? "mean TTFT" : "throughput";
  if (by_ttft) {
    verdict.gain = Saving(before.ttft_s.mean, now.ttft_s.mean);
  } else if (before.requests_per_s > 0) {
    verdict.gain = now.requests_per_s / before.requests_per_s - 1;
  }
  verdict.retrieval_saving = Saving(before.time.retrieval_s, now.time.retrieval_s);
  const double prefill_s = PrefillSeconds(now.time);
  if (prefill_s > 0) verdict.write_wait_share = now.time.write_wait_s / prefill_s;
  verdict.answer = AnswerFor(verdict.gain);
  verdict.text = Write(verdict, *alone, *together, by_ttft);
  return verdict;
}

std::string DescribeTime(const PolicyRun& run) {
  const sim::Summary& summary = run.results.summary;
  const sim::TimeShares& time = summary.time;
  const double total_s = time.total_s();
  if (!(total_s > 0)) return run.policy.label + ": no step was measured.";
  return fmt::format(
      "{}: retrieval is {} of the prefill steps. Most time goes to {}: retrieval {}, forward {}, "
      "wait for writes {}, decode {}.",
      run.policy.label, Percent(summary.retrieval_share), summary.dominant,
      Percent(time.retrieval_s / total_s), Percent(time.forward_s / total_s),
      Percent(time.write_wait_s / total_s), Percent(time.decode_s / total_s));
}

}  // namespace kvstream::kvsim
