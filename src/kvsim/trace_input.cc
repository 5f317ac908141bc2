#include "kvsim/trace_input.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "cli/command_line.h"
#include "kvsim/settings.h"

namespace kvstream::kvsim {
namespace {

using trace::ArrivalProcess;

constexpr std::array<std::pair<std::string_view, ArrivalProcess>, 6> kProcesses = {
    {{"recorded", ArrivalProcess::kRecorded},
     {"poisson", ArrivalProcess::kPoisson},
     {"gamma", ArrivalProcess::kGamma},
     {"weibull", ArrivalProcess::kWeibull},
     {"think", ArrivalProcess::kThinkTime},
     {"closed", ArrivalProcess::kClosedLoop}}};

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Seconds from the first arrival to the last; 0 without times. Recorded clocks need not begin at 0.
double Span(const trace::RequestTrace& trace) {
  const auto [first, last] =
      std::minmax_element(trace.requests.begin(), trace.requests.end(),
                          [](const auto& a, const auto& b) { return a.arrival_s < b.arrival_s; });
  return trace.requests.empty() ? 0 : last->arrival_s - first->arrival_s;
}

Status SetRate(const trace::RequestTrace& trace, double rate_per_s,
               trace::ArrivalOptions* arrivals) {
  if (!(rate_per_s > 0)) return Refuse("--rate: must be above 0");
  arrivals->rate_per_s = rate_per_s;
  if (arrivals->process == ArrivalProcess::kClosedLoop) {
    return Refuse("--rate: with --arrivals closed all requests are there from the start");
  }
  if (arrivals->process != ArrivalProcess::kRecorded) return {};
  if (trace.clock != trace::ArrivalClock::kTrace || !(Span(trace) > 0)) {
    return Refuse(
        fmt::format("--rate: {} has no recorded times to stretch; name a process with "
                    "--arrivals, as in --arrivals poisson",
                    trace.source));
  }
  arrivals->stretch = static_cast<double>(trace.requests.size()) / (Span(trace) * rate_per_s);
  return {};
}

}  // namespace

void TraceInput::Bind(CLI::App* app) { trace_.Bind(app); }

void TraceInput::BindArrivals(CLI::App* app) {
  const auto add = [app](const char* name, auto& target, const char* help) {
    return app->add_option(name, target, help)->group("Arrivals")->capture_default_str();
  };
  add("--arrivals", arrivals_,
      "recorded, poisson, gamma, weibull, think (a turn comes its think time after the last "
      "answer), or closed (all at once: offline)");
  add("--rate", rate_, "Requests a second; stretches recorded times. think: sessions a second")
      ->type_name("NUMBER");
  add("--cv", cv_, "gamma, weibull: standard deviation of the gaps over their mean");
  add("--spread-quantum", spread_quantum_,
      "recorded: times are known to this only; spreads them evenly over it")
      ->type_name("TIME");
  add("--turns", turns_,
      "after-answer: a turn is held until the session's last answer is finished; independent; "
      "auto: after-answer if later prompts are long enough to contain the answers before them");
}

Result<trace::RequestTrace> TraceInput::Load() const {
  KVS_TRY_ASSIGN(const trace::TraceOptions options, trace_.Read());
  return trace::LoadTrace(trace_.source(), options);
}

Result<trace::ArrivalOptions> TraceInput::ReadArrivals() const {
  trace::ArrivalOptions options;
  const auto process = std::find_if(kProcesses.begin(), kProcesses.end(),
                                    [this](const auto& pair) { return pair.first == arrivals_; });
  if (process == kProcesses.end()) {
    return Refuse(
        fmt::format("--arrivals {}: none of recorded, poisson, gamma, weibull, think, "
                    "closed",
                    arrivals_));
  }
  options.process = process->second;
  options.cv = cv_;
  options.seed = seed();
  KVS_TRY(
      cli::ReadFlag("--spread-quantum", ParseSeconds(spread_quantum_), &options.spread_quantum_s));
  return options;
}

Status TraceInput::Arrive(trace::RequestTrace* trace, std::optional<double> rate_per_s) const {
  KVS_TRY_ASSIGN(trace::ArrivalOptions options, ReadArrivals());
  if (!rate_per_s && !rate_.empty()) {
    double rate = 0;
    KVS_TRY(cli::ReadFlag("--rate", ParseNumber(rate_), &rate));
    rate_per_s = rate;
  }
  if (rate_per_s) KVS_TRY(SetRate(*trace, *rate_per_s, &options));
  auto applied = trace::ApplyArrivals(*trace, options);
  if (!applied) return std::move(applied).error().WithContext("--arrivals " + arrivals_);
  return {};
}

Result<sim::TurnRule> TraceInput::Turns() const {
  if (turns_ == "after-answer") return sim::TurnRule::kAfterAnswer;
  if (turns_ == "independent") return sim::TurnRule::kIndependent;
  if (turns_ == "auto") return sim::TurnRule::kFromPrompts;
  return Refuse(fmt::format("--turns {}: none of auto, after-answer, independent", turns_));
}

}  // namespace kvstream::kvsim
