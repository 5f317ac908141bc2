#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/bench_context.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/sample_statistics.h"
#include "cli/text_table.h"

namespace kvstream::cli {
namespace {

// A stage that drains as fast as a caller can fill it never is full; then we say so.
constexpr int kPutsMax = 5000;

struct PutTimes {
  std::vector<double> free_s;     // into a stage with nothing in it
  std::vector<double> filling_s;  // accepted on the way to a full stage
  std::vector<double> full_s;     // dropped
};

class PutBench {
 public:
  explicit PutBench(BenchContext& bench)
      : bench_(bench), payload_(bench.options().put_bytes, std::byte{0x5a}) {}

  Status Run() {
    for (uint32_t put = 0; put < bench_.options().steps && !Interrupted(); ++put) {
      KVS_TRY(bench_.session().Flush());
      bench_.Pause();
      KVS_TRY(PutOnce(&times_.free_s));
    }
    const size_t wanted = bench_.options().steps;
    for (int put = 0; put < kPutsMax && times_.full_s.size() < wanted && !Interrupted(); ++put) {
      KVS_TRY(PutOnce(&times_.filling_s));
    }
    return bench_.session().Remove(keys_);
  }

  const PutTimes& times() const { return times_; }

 private:
  Status PutOnce(std::vector<double>* accepted_s) {
    const std::span<const std::byte> segment(payload_);
    const WriteItem item{bench_.FreshKey(), {&segment, 1}};
    Engine& engine = bench_.session().engine();
    const auto begin = std::chrono::steady_clock::now();
    KVS_TRY_ASSIGN(const WriteTicket ticket, engine.Write(bench_.session().ns(), {&item, 1}));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    engine.Poll();
    const bool dropped = ticket.accepted[0] == WriteAccept::kDropped;
    (dropped ? &times_.full_s : accepted_s)->push_back(seconds);
    if (!dropped) keys_.push_back(item.key);
    return {};
  }

  BenchContext& bench_;
  const std::vector<std::byte> payload_;
  std::vector<ChunkKey> keys_;
  PutTimes times_;
};

}  // namespace

Status BenchPut(BenchContext& bench, nlohmann::json* summary) {
  PutBench put(bench);
  KVS_TRY(put.Run());
  TextTable table(
      {"put of " + base::FormatBytes(bench.options().put_bytes), "puts", "median", "max"});
  const PutTimes& times = put.times();
  for (const auto& [name, key, values] :
       {std::tuple{"into a free stage", "free_s", &times.free_s},
        std::tuple{"accepted while filling it", "filling_s", &times.filling_s},
        std::tuple{"into a full stage (dropped)", "full_s", &times.full_s}}) {
    table.AddRow({name, fmt::format("{}", values->size()), FormatSeconds(Median(*values)),
                  FormatSeconds(Quantile(*values, 1))});
    (*summary)["put"][key] = *values;
  }
  (*summary)["put"]["bytes"] = bench.options().put_bytes;
  fmt::print(bench.out(), "\n{}", table.Render());
  if (times.full_s.empty() && !Interrupted()) {
    fmt::print(bench.out(), "the stage never was full in {} puts: the tiers drain it too fast\n",
               kPutsMax);
  }
  return {};
}

}  // namespace kvstream::cli
