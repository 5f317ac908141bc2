// Arbitrary bytes as a step log: an error, or a log that can be replayed or is refused, in bounded
// time and with all bytes conserved. The first byte chooses the options, the rest is the file.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "sim/step_log_run.h"

namespace kvstream::sim {
namespace {

StepLogOptions OptionsFrom(uint8_t bits) {
  StepLogOptions options;
  options.storage.routing.policy = static_cast<Policy>((bits & 7) % 5);
  options.storage.routing.claim_chunks = (bits & 8) != 0 ? 2 : 0;
  options.storage.serial = (bits & 16) != 0;
  options.replay_writes = (bits & 32) != 0;
  options.storage.write.replication = static_cast<Replication>((bits >> 6) + 1);
  return options;
}

void CheckReplay(const StepLog& log, const StepLogOptions& options) {
  const auto results = RunStepLog(log, options);
  if (!results) {
    KVS_ASSERT(results.error().code() == ErrorCode::kInvalidArgument);
    return;
  }
  KVS_ASSERT(!results->steps.empty() && results->steps.size() <= log.steps.size());
  KVS_ASSERT(results->retrieval_s >= 0 && results->bound_s >= 0);
}

}  // namespace
}  // namespace kvstream::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvstream::sim;
  if (size == 0) return 0;
  const auto log =
      ParseStepLog("fuzz", std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (log) CheckReplay(*log, OptionsFrom(data[0]));
  return 0;
}
