#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/roofline.h"
#include "sim/decoded_chunks.h"
#include "sim/event_queue.h"
#include "sim/memory_cache.h"
#include "sim/node_storage.h"
#include "sim/results.h"
#include "sim/scenario.h"
#include "sim/turn_gate.h"

namespace kvstream::sim {

/// What the nodes of one run share. All of it outlives them.
struct ServingContext {
  const Scenario& scenario;
  const model::Roofline& roofline;
  EventQueue& queue;
  const DeviceSet* devices = nullptr;  ///< Null: no storage.
  TurnGate& gate;
  DecodedChunks& decoded;
  Results& results;
};

/// One node that serves requests in the order in which they come: continuous batching without
/// chunked prefill. Each step is one of
///   prefill  the requests that fit now are admitted; their prefixes are matched, retrieved and the
///            rest computed: T_i = T_wr + T_ret + T_fwd, after which each has its first token
///   decode   one more token for every running request; all steps until a request finishes or one
///            could be admitted are one event
/// New chunks are handed to storage when the next step begins, and go to the tiers behind its
/// forward pass (M2). On virtual time; not thread-safe.
class ServingNode final : public StorageListener {
 public:
  ServingNode(uint32_t node, const ServingContext& context);

  /// A request of the trace arrives now.
  void Enqueue(uint32_t request);

  /// Nothing waits, runs or is still to be written.
  bool idle() const;
  /// Null without tiers.
  const NodeStorage* storage() const { return storage_.get(); }
  /// Chunks that this node's steps asked of storage.
  uint64_t demand_chunks() const { return demand_chunks_; }
  double decode_s() const { return decode_s_; }

  void OnStepRead(const StepStorage& step) override;
  void OnWriteAccepted() override;

 private:
  enum class State : uint8_t { kIdle, kForming, kReading, kForward, kDecoding };

  struct Running {
    uint32_t request = 0;
    uint32_t tokens_left = 0;
    uint64_t context_tokens = 0;
  };
  struct PromptMatch {
    TokenCounts tokens;
    uint32_t chunks = 0;  // of the leading run that is in memory or on storage
    uint64_t host_chunks = 0;
  };

  const trace::Request& RequestOf(uint32_t request) const;
  uint64_t PrivateBytes(const trace::Request& request) const;
  StorageChunk ChunkAt(size_t position) const;
  RequestResult& ResultOf(uint32_t request) const;

  void Begin();
  void Continue();
  bool AdmitNext();
  bool CouldAdmit() const;
  void Refuse(uint32_t request);
  PromptMatch Match(const trace::Request& request);
  void Take(uint32_t request, const PromptMatch& match);
  void BeginRetrieval();
  void OnMemoryCopied();
  void EndForward();
  void BeginDecode();
  void CutDecodeShort();
  void EndDecode();
  void FinishDone();
  void Finish(uint32_t request);
  void OnStepEnd();

  uint32_t node_;
  ServingContext context_;
  const Scenario& scenario_;
  const trace::RequestTrace& trace_;
  uint64_t token_bytes_;
  uint64_t chunk_bytes_;
  bool storage_evicts_ = false;
  MemoryCache memory_;
  std::unique_ptr<NodeStorage> storage_;

  State state_ = State::kIdle;
  std::deque<uint32_t> waiting_;
  std::vector<Running> running_;
  std::vector<Running> finished_;            // scratch
  std::vector<StorageChunk> new_chunks_;     // computed and not handed to storage yet
  std::vector<StorageChunk> handed_chunks_;  // storage is taking them in

  // The prefill step under way.
  uint64_t steps_ = 0;
  StepResult step_;
  std::vector<uint32_t> batch_;
  std::vector<model::ForwardWork> work_;
  std::vector<StorageChunk> reads_;
  std::vector<uint32_t> read_ends_;
  std::vector<StorageChunk> computed_;

  // The decode steps under way.
  model::Roofline::Decode decode_;
  double decode_begin_s_ = 0;

  std::vector<uint64_t> ids_;            // of the request being matched or finished
  std::vector<StorageChunk> ids_reads_;  // of them, those only on storage
  std::vector<uint32_t> touched_;
  uint64_t demand_chunks_ = 0;
  double decode_s_ = 0;  // measured

  Event begin_;
  Event copied_;
  Event step_end_;
};

}  // namespace kvstream::sim
