#include <atomic>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/bench_context.h"
#include "cli/fio_runner.h"
#include "cli/interrupt.h"
#include "cli/sample_statistics.h"
#include "cli/text_table.h"

// The modes that compare two things in pairs, one right after the other, so that what the machine
// does meanwhile strikes both.

namespace kvstream::cli {
namespace {

constexpr std::chrono::milliseconds kFioTime{1500};
constexpr std::chrono::milliseconds kFloodLead{200};  // for the first writes to be in flight
constexpr std::chrono::milliseconds kFullPause{1};

struct Pairs {
  std::vector<double> ours;  // bytes per second
  std::vector<double> theirs;
  std::vector<double> ratios;  // ours over theirs

  void Add(double our, double their) {
    ours.push_back(our);
    theirs.push_back(their);
    ratios.push_back(our / their);
  }
};

void Report(BenchContext& bench, const Pairs& pairs, std::string ours, std::string theirs,
            nlohmann::json* summary) {
  TextTable table({"", "median", "25 %", "75 %"});
  for (const auto& [name, values] : {std::pair{&ours, &pairs.ours}, {&theirs, &pairs.theirs}}) {
    const Interval quartiles = Quartiles(*values);
    table.AddRow({*name, base::FormatBandwidth(Median(*values)),
                  base::FormatBandwidth(quartiles.low), base::FormatBandwidth(quartiles.high)});
  }
  const Interval interval = BootstrapMedian(pairs.ratios, bench.options().seed);
  fmt::print(bench.out(), "\n{}ratio {}: median {:.4f}, 95 % interval {:.4f} to {:.4f}, {} pairs\n",
             table.Render(), ours + " / " + theirs, Median(pairs.ratios), interval.low,
             interval.high, pairs.ratios.size());
  (*summary)["pairs"] = {{"ours", ours},
                         {"theirs", theirs},
                         {"ours_bytes_per_second", pairs.ours},
                         {"theirs_bytes_per_second", pairs.theirs},
                         {"ratio_median", Median(pairs.ratios)},
                         {"ratio_interval", {interval.low, interval.high}}};
}

double BytesPerSecond(const ReadSample& sample) {
  return static_cast<double>(sample.delivered_bytes) /
         std::chrono::duration<double>(sample.retrieval).count();
}

// Puts chunks without a pause until it is destroyed; the stage drops what it cannot take.
class WriteFlood {
 public:
  explicit WriteFlood(BenchContext& bench)
      : bench_(bench), payload_(bench.options().chunk_bytes), thread_([this] { Run(); }) {}
  ~WriteFlood() { Stop(); }
  WriteFlood(const WriteFlood&) = delete;
  WriteFlood& operator=(const WriteFlood&) = delete;

  void Stop() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }

  // After Stop.
  const std::vector<ChunkKey>& keys() const { return keys_; }
  const Status& status() const { return status_; }

 private:
  void Run() {
    const std::span<const std::byte> segment(payload_);
    while (!stop_.load() && status_) {
      const WriteItem item{bench_.FreshKey(), {&segment, 1}};
      auto ticket = bench_.session().engine().Write(bench_.session().ns(), {&item, 1});
      if (!ticket) {
        status_ = std::move(ticket).error();
      } else if (ticket->accepted[0] == WriteAccept::kDropped) {
        std::this_thread::sleep_for(kFullPause);
      } else {
        keys_.push_back(item.key);
      }
    }
  }

  BenchContext& bench_;
  const std::vector<std::byte> payload_;
  std::vector<ChunkKey> keys_;
  Status status_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses the others
};

Result<ReadSample> ReadUnderFlood(BenchContext& bench) {
  WriteFlood flood(bench);
  SleepInterruptibly(kFloodLead);
  auto sample = bench.Read();
  flood.Stop();
  if (!flood.status()) return flood.status().error().Clone();
  KVS_TRY(bench.session().Remove(flood.keys()));
  return sample;
}

}  // namespace

Status BenchSingle(BenchContext& bench, nlohmann::json* summary) {
  KVS_TRY_ASSIGN(const std::vector<RawTier> tiers, bench.RawTiers());
  KVS_TRY_ASSIGN(const FioBest best, FindBestFio(tiers[0].files, kFioTime));
  fmt::print(bench.out(), "fio reads {} x {} deep with {}\n",
             base::FormatBytes(best.shape.block_bytes), best.shape.depth, best.shape.engine);
  Pairs pairs;
  const auto run_fio = [&] {
    bench.Pause();
    return RunFio(tiers[0].files, best.shape, bench.step_bytes(), {});
  };
  for (uint32_t warmup = 0; warmup < bench.options().warmup; ++warmup) KVS_TRY(bench.Read());
  for (uint32_t step = 0; step < bench.options().steps && !Interrupted(); ++step) {
    // Alternately first, against any drift.
    auto fio = step % 2 == 0 ? run_fio() : Result<FioResult>(FioResult{});
    KVS_TRY_ASSIGN(const ReadSample sample, bench.Read());
    if (step % 2 == 1) fio = run_fio();
    if (sample.interrupted || Interrupted()) break;
    if (!fio) return std::move(fio).error();
    pairs.Add(BytesPerSecond(sample), fio->bytes_per_second);
  }
  Report(bench, pairs, "kvstream", "fio", summary);
  return {};
}

Status BenchFlood(BenchContext& bench, nlohmann::json* summary) {
  KVS_TRY(bench.session().engine().SetRouting(bench.options().policies[0].routing));
  Pairs pairs;
  uint64_t missed_chunks = 0;
  for (uint32_t warmup = 0; warmup < bench.options().warmup; ++warmup) KVS_TRY(bench.Read());
  for (uint32_t step = 0; step < bench.options().steps && !Interrupted(); ++step) {
    SleepInterruptibly(kFloodLead);
    KVS_TRY_ASSIGN(const ReadSample quiet, bench.Read());
    if (quiet.interrupted) break;
    KVS_TRY_ASSIGN(const ReadSample flooded, ReadUnderFlood(bench));
    if (flooded.interrupted) break;
    pairs.Add(BytesPerSecond(flooded), BytesPerSecond(quiet));
    missed_chunks += quiet.missed.size() + flooded.missed.size();
  }
  Report(bench, pairs, "with write flood", "quiet", summary);
  fmt::print(bench.out(), "missed chunks: {}\n", missed_chunks);
  (*summary)["missed_chunks"] = missed_chunks;
  return {};
}

}  // namespace kvstream::cli
