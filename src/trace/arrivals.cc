#include "trace/arrivals.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/distributions.h"
#include "base/prng.h"

namespace kvstream::trace {
namespace {

constexpr double kRateMax = 1e6;
constexpr double kVariationMin = 0.1;
constexpr double kVariationMax = 20;
constexpr double kSpreadMax = 1e6;
constexpr double kStretchMax = 1e6;

Error Invalid(const RequestTrace& trace, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", trace.source, what));
}

Status CheckRate(const RequestTrace& trace, double rate_per_s) {
  if (rate_per_s > 0 && rate_per_s <= kRateMax) return {};
  return Invalid(trace, fmt::format("this arrival process needs a rate above 0 and up to {:g} a "
                                    "second, not {:g}",
                                    kRateMax, rate_per_s));
}

std::vector<double> SortedTimes(const RequestTrace& trace) {
  std::vector<double> times;
  times.reserve(trace.requests.size());
  for (const Request& request : trace.requests) times.push_back(request.arrival_s);
  std::sort(times.begin(), times.end());
  return times;
}

Status ApplyRecorded(RequestTrace& trace, const ArrivalOptions& options) {
  if (!(options.stretch > 0 && options.stretch <= kStretchMax)) {
    return Invalid(trace,
                   fmt::format("times can be stretched by more than 0 and up to {:g}, not {:g}",
                               kStretchMax, options.stretch));
  }
  if (!(options.spread_quantum_s >= 0 && options.spread_quantum_s <= kSpreadMax)) {
    return Invalid(trace, fmt::format("times can be spread over 0 to {:g} s, not {:g}", kSpreadMax,
                                      options.spread_quantum_s));
  }
  if (trace.clock == ArrivalClock::kSession) {
    return Invalid(trace,
                   "its times count from the start of each session and do not say when sessions "
                   "start; choose think times or another arrival process, and a rate");
  }
  if (trace.clock == ArrivalClock::kNone) {
    if (options.stretch == 1 && options.spread_quantum_s == 0) return {};
    return Invalid(trace, "it has no times to stretch or spread; choose a process with a rate");
  }
  base::Prng prng(options.seed);
  std::vector<double> times = SortedTimes(trace);
  for (double& time : times) {
    time = options.stretch * (time + options.spread_quantum_s * prng.Uniform());
  }
  std::sort(times.begin(), times.end());
  for (size_t i = 0; i < times.size(); ++i) trace.requests[i].arrival_s = times[i];
  return {};
}

/// Arrival times with gaps from `draw`, scaled so that the last of n is at n / rate.
std::vector<double> DrawTimes(size_t count, double rate_per_s,
                              const std::function<double()>& draw) {
  std::vector<double> times;
  times.reserve(count);
  double now = 0;
  for (size_t i = 0; i < count; ++i) times.push_back(now += draw());
  const double scale = now > 0 ? static_cast<double>(count) / rate_per_s / now : 0;
  for (double& time : times) time *= scale;
  return times;
}

Status ApplyRenewal(RequestTrace& trace, const ArrivalOptions& options) {
  KVS_TRY(CheckRate(trace, options.rate_per_s));
  if (!(options.cv >= kVariationMin && options.cv <= kVariationMax)) {
    return Invalid(trace,
                   fmt::format("the variation of arrivals must be from {:g} to {:g}, not {:g}",
                               kVariationMin, kVariationMax, options.cv));
  }
  base::Prng prng(options.seed);
  const double gamma_shape = 1 / (options.cv * options.cv);
  const double weibull_shape = base::WeibullShape(options.cv);
  const std::vector<double> times =
      DrawTimes(trace.requests.size(), options.rate_per_s, [&]() -> double {
        switch (options.process) {
          case ArrivalProcess::kGamma:
            return base::Gamma(prng, gamma_shape, 1);
          case ArrivalProcess::kWeibull:
            return base::Weibull(prng, weibull_shape, 1);
          default:
            return base::Exponential(prng, 1);
        }
      });
  for (size_t i = 0; i < times.size(); ++i) trace.requests[i].arrival_s = times[i];
  trace.clock = ArrivalClock::kTrace;
  return {};
}

Status ApplyThinkTime(RequestTrace& trace, const ArrivalOptions& options) {
  const bool has_think = std::any_of(trace.requests.begin(), trace.requests.end(),
                                     [](const Request& request) { return request.think_s > 0; });
  if (!trace.has_sessions || !has_think) {
    return Invalid(trace, "it has no think times of sessions; choose a process with a rate");
  }
  if (options.rate_per_s == 0 && trace.clock != ArrivalClock::kTrace) {
    return Invalid(trace, "it does not say when sessions start; give a rate of sessions a second");
  }
  if (options.rate_per_s != 0) KVS_TRY(CheckRate(trace, options.rate_per_s));
  constexpr double kUnseen = -1;
  std::vector<double> begins(trace.session_count, kUnseen);  // of the sessions, as recorded
  std::vector<uint32_t> first_seen;
  for (const Request& request : trace.requests) {
    if (begins[request.session] != kUnseen) continue;
    begins[request.session] = request.arrival_s;
    first_seen.push_back(request.session);
  }
  std::vector<double> starts = begins;
  if (options.rate_per_s != 0) {
    base::Prng prng(options.seed);
    const std::vector<double> times = DrawTimes(first_seen.size(), options.rate_per_s,
                                                [&] { return base::Exponential(prng, 1); });
    for (size_t i = 0; i < times.size(); ++i) starts[first_seen[i]] = times[i];
  }
  for (Request& request : trace.requests) {
    request.arrival_s += starts[request.session] - begins[request.session];
  }
  trace.clock = ArrivalClock::kSession;
  return {};
}

}  // namespace

Status ApplyArrivals(RequestTrace& trace, const ArrivalOptions& options) {
  switch (options.process) {
    case ArrivalProcess::kRecorded:
      return ApplyRecorded(trace, options);
    case ArrivalProcess::kPoisson:
    case ArrivalProcess::kGamma:
    case ArrivalProcess::kWeibull:
      return ApplyRenewal(trace, options);
    case ArrivalProcess::kThinkTime:
      return ApplyThinkTime(trace, options);
    case ArrivalProcess::kClosedLoop:
      for (Request& request : trace.requests) request.arrival_s = 0;
      trace.clock = ArrivalClock::kNone;
      return {};
  }
  return Invalid(trace, "unknown arrival process");
}

double ArrivalVariation(const RequestTrace& trace) {
  if (trace.requests.size() < 3) return 0;
  const std::vector<double> times = SortedTimes(trace);
  const double count = static_cast<double>(times.size() - 1);
  const double mean = (times.back() - times.front()) / count;
  if (mean == 0) return 0;
  double squares = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    const double off = times[i] - times[i - 1] - mean;
    squares += off * off;
  }
  return std::sqrt(squares / count) / mean;
}

double ArrivalQuantum(const RequestTrace& trace) {
  if (trace.clock != ArrivalClock::kTrace) return 0;
  const std::vector<double> times = SortedTimes(trace);
  std::vector<double> steps;
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i] > times[i - 1]) steps.push_back(times[i] - times[i - 1]);
  }
  if (steps.empty() || steps.size() >= times.size() / 4) return 0;
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace kvstream::trace
