#include "sim/serving_node.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/assert.h"

namespace kvstream::sim {

ServingNode::ServingNode(uint32_t node, const ServingContext& context)
    : node_(node),
      context_(context),
      scenario_(context.scenario),
      trace_(*context.scenario.trace),
      token_bytes_(scenario_.model.RankKvBytesPerToken(scenario_.ranks)),
      chunk_bytes_(token_bytes_ * trace_.chunk_tokens),
      memory_(scenario_.memory, chunk_bytes_),
      begin_(EventKind::kStep, kCalls<&ServingNode::Begin>, this),
      copied_(EventKind::kTransfer, kCalls<&ServingNode::OnMemoryCopied>, this),
      step_end_(EventKind::kStep, kCalls<&ServingNode::OnStepEnd>, this) {
  if (context.devices == nullptr) return;
  storage_ = std::make_unique<NodeStorage>(*context.devices, node, scenario_.storage, context.queue,
                                           *this);
  storage_evicts_ =
      std::any_of(scenario_.tiers.begin(), scenario_.tiers.end(), [](const TierModel& tier) {
        return tier.capacity_bytes != std::numeric_limits<uint64_t>::max();
      });
}

const trace::Request& ServingNode::RequestOf(uint32_t request) const {
  return trace_.requests[request];
}

uint64_t ServingNode::PrivateBytes(const trace::Request& request) const {
  return (uint64_t{request.tail_tokens} + request.output_tokens) * token_bytes_;
}

RequestResult& ServingNode::ResultOf(uint32_t request) const {
  return context_.results.requests[request];
}

StorageChunk ServingNode::ChunkAt(size_t position) const {
  return {.id = static_cast<uint32_t>(ids_[position]),
          .position = static_cast<uint32_t>(position),
          .prefix_chunks = static_cast<uint32_t>(ids_.size()),
          .bytes = chunk_bytes_};
}

bool ServingNode::idle() const {
  const bool serving = state_ != State::kIdle || begin_.scheduled() || !waiting_.empty();
  return !serving && (storage_ == nullptr || storage_->idle());
}

void ServingNode::Enqueue(uint32_t request) {
  RequestResult& result = ResultOf(request);
  result.node = node_;
  result.arrival_s = context_.queue.now_s();
  waiting_.push_back(request);
  // An event of its own, so that all requests of one instant are seen by the step.
  if (state_ == State::kIdle) context_.queue.ScheduleIn(begin_, 0);
  if (state_ == State::kDecoding && CouldAdmit()) CutDecodeShort();
}

void ServingNode::Begin() {
  state_ = State::kForming;
  if (storage_ != nullptr && !new_chunks_.empty()) {
    handed_chunks_.swap(new_chunks_);
    new_chunks_.clear();
    storage_->Write(handed_chunks_);
    return;
  }
  Continue();
}

void ServingNode::OnWriteAccepted() { Continue(); }

void ServingNode::Continue() {
  step_ = StepResult{};
  step_.begin_s = context_.queue.now_s();
  batch_.clear();
  work_.clear();
  reads_.clear();
  read_ends_.clear();
  computed_.clear();
  while (AdmitNext()) {
  }
  if (!batch_.empty()) return BeginRetrieval();
  if (storage_ != nullptr) storage_->ForwardBegan();
  if (!running_.empty()) return BeginDecode();
  KVS_ASSERT(waiting_.empty());
  state_ = State::kIdle;
}

bool ServingNode::CouldAdmit() const {
  return !waiting_.empty() && running_.size() + batch_.size() < scenario_.batch.running_max;
}

bool ServingNode::AdmitNext() {
  if (!CouldAdmit()) return false;
  const uint32_t index = waiting_.front();
  const trace::Request& request = RequestOf(index);
  trace_.ChunkIds(request, ids_);
  if (!memory_.Fits(ids_, PrivateBytes(request))) {
    if (!memory_.idle()) return false;
    Refuse(index);
    return true;
  }
  const PromptMatch match = Match(request);
  const uint64_t to_compute = std::max<uint64_t>(match.tokens.missed, 1);
  const bool within = step_.computed_tokens + to_compute <= scenario_.batch.prefill_tokens_max;
  if (!batch_.empty() && !within) return false;
  waiting_.pop_front();
  Take(index, match);
  return true;
}

void ServingNode::Refuse(uint32_t request) {
  RequestResult& result = ResultOf(request);
  result.refused = true;
  result.admitted_s = result.first_token_s = result.finished_s = result.arrival_s;
  waiting_.pop_front();
  context_.gate.OnAnswered(request);
}

ServingNode::PromptMatch ServingNode::Match(const trace::Request& request) {
  const uint64_t chunk_tokens = trace_.chunk_tokens;
  PromptMatch match;
  ids_reads_.clear();
  for (; match.chunks < ids_.size(); ++match.chunks) {
    const auto id = static_cast<uint32_t>(ids_[match.chunks]);
    const MemoryCache::Place place = memory_.Find(id);
    if (place == MemoryCache::Place::kGpu) {
      match.tokens.gpu += chunk_tokens;
    } else if (place == MemoryCache::Place::kHost) {
      match.tokens.host += chunk_tokens;
      ++match.host_chunks;
    } else if (storage_ != nullptr && storage_->Stored(id)) {
      match.tokens.storage += chunk_tokens;
      ids_reads_.push_back(ChunkAt(match.chunks));
    } else {
      break;
    }
  }
  match.tokens.missed = request.input_tokens - match.chunks * chunk_tokens;
  return match;
}

void ServingNode::Take(uint32_t index, const PromptMatch& match) {
  const trace::Request& request = RequestOf(index);
  memory_.Admit(ids_, PrivateBytes(request));
  if (storage_evicts_) {
    touched_.assign(ids_.begin(), ids_.begin() + match.chunks);
    storage_->Touch(touched_);
  }
  reads_.insert(reads_.end(), ids_reads_.begin(), ids_reads_.end());
  read_ends_.push_back(static_cast<uint32_t>(reads_.size()));
  if (storage_ != nullptr) {
    for (size_t at = match.chunks; at < ids_.size(); ++at) computed_.push_back(ChunkAt(at));
  }
  // A prompt that is matched to its end still computes its last token, an empty one its first.
  const uint64_t computed = std::max<uint64_t>(match.tokens.missed, 1);
  const uint64_t context = std::max<uint64_t>(request.input_tokens, computed) - computed;
  step_.computed_tokens += computed;
  step_.host_bytes += match.host_chunks * chunk_bytes_;
  work_.push_back({.new_tokens = static_cast<uint32_t>(computed),
                   .context_tokens = static_cast<uint32_t>(context)});
  batch_.push_back(index);

  RequestResult& result = ResultOf(index);
  result.admitted_s = context_.queue.now_s();
  result.tokens = match.tokens;
}

void ServingNode::BeginRetrieval() {
  state_ = State::kReading;
  demand_chunks_ += reads_.size();
  if (storage_ == nullptr) {
    const double link = scenario_.storage.link_bytes_per_second;
    return context_.queue.ScheduleIn(copied_, static_cast<double>(step_.host_bytes) / link);
  }
  if (scenario_.keep_chunks) {
    for (const StorageChunk& chunk : reads_) {
      step_.chunks.push_back({.chunk = chunk,
                              .holders = storage_->Holders(chunk.id),
                              .staged = storage_->Staged(chunk.id)});
    }
  }
  storage_->SubmitStep(
      {.chunks = reads_, .request_ends = read_ends_, .host_bytes = step_.host_bytes});
}

void ServingNode::OnMemoryCopied() {
  StepStorage copied;
  copied.retrieval_s = context_.queue.now_s() - step_.begin_s;
  OnStepRead(copied);
}

void ServingNode::OnStepRead(const StepStorage& step) {
  KVS_ASSERT(state_ == State::kReading);
  step_.storage = step;
  if (storage_ != nullptr) storage_->ForwardBegan();
  state_ = State::kForward;
  step_.forward_s = context_.roofline.PrefillSeconds(work_);
  context_.queue.ScheduleIn(step_end_, step_.forward_s);
}

void ServingNode::OnStepEnd() {
  const State ended = std::exchange(state_, State::kForming);
  KVS_ASSERT(ended == State::kForward || ended == State::kDecoding);
  ended == State::kForward ? EndForward() : EndDecode();
  FinishDone();
  Begin();
}

void ServingNode::EndForward() {
  step_.step = ++steps_;
  step_.node = node_;
  step_.requests = static_cast<uint32_t>(batch_.size());
  step_.warmup = true;
  for (const uint32_t index : batch_) {
    const trace::Request& request = RequestOf(index);
    ResultOf(index).first_token_s = context_.queue.now_s();
    step_.warmup = step_.warmup && ResultOf(index).warmup;
    const uint32_t tokens_left = request.output_tokens > 1 ? request.output_tokens - 1 : 0;
    running_.push_back({.request = index,
                        .tokens_left = tokens_left,
                        .context_tokens = uint64_t{request.input_tokens} + 1});
  }
  new_chunks_.insert(new_chunks_.end(), computed_.begin(), computed_.end());
  context_.results.steps.push_back(std::move(step_));
  batch_.clear();
}

void ServingNode::BeginDecode() {
  state_ = State::kDecoding;
  decode_ = {.requests = static_cast<uint32_t>(running_.size()),
             .context_tokens = 0,
             .steps = std::numeric_limits<uint32_t>::max()};
  for (const Running& running : running_) {
    decode_.context_tokens += running.context_tokens;
    decode_.steps = std::min(decode_.steps, running.tokens_left);
  }
  decode_begin_s_ = context_.queue.now_s();
  context_.queue.ScheduleIn(step_end_, context_.roofline.DecodeSeconds(decode_));
}

void ServingNode::CutDecodeShort() {
  const double elapsed_s = context_.queue.now_s() - decode_begin_s_;
  model::Roofline::Decode cut = decode_;
  uint32_t below = 0;  // steps that are over by now
  while (below + 1 < decode_.steps) {
    // The longest run of steps that has ended, by bisection.
    cut.steps = below + (decode_.steps - below) / 2;
    if (context_.roofline.DecodeSeconds(cut) >= elapsed_s) {
      decode_.steps = cut.steps;
    } else {
      below = cut.steps;
    }
  }
  const double seconds = context_.roofline.DecodeSeconds(decode_);
  context_.queue.Schedule(step_end_, TimePoint{} + SecondsUp(decode_begin_s_ + seconds));
}

void ServingNode::EndDecode() {
  bool warmup = true;
  for (Running& running : running_) {
    running.tokens_left -= decode_.steps;
    running.context_tokens += decode_.steps;
    warmup = warmup && ResultOf(running.request).warmup;
  }
  if (!warmup) decode_s_ += context_.queue.now_s() - decode_begin_s_;
}

void ServingNode::FinishDone() {
  const auto done =
      std::stable_partition(running_.begin(), running_.end(),
                            [](const Running& running) { return running.tokens_left > 0; });
  finished_.assign(done, running_.end());
  running_.erase(done, running_.end());
  for (const Running& finished : finished_) Finish(finished.request);
}

void ServingNode::Finish(uint32_t index) {
  const trace::Request& request = RequestOf(index);
  trace_.ChunkIds(request, ids_);
  memory_.Finish(ids_, PrivateBytes(request));
  ResultOf(index).finished_s = context_.queue.now_s();
  if (scenario_.store_decoded) {
    context_.decoded.IdsWithAnswer(index, ids_);
    memory_.Keep(std::span(ids_).subspan(request.chunk_count));
    for (size_t at = request.chunk_count; storage_ != nullptr && at < ids_.size(); ++at) {
      new_chunks_.push_back(ChunkAt(at));
    }
  }
  context_.gate.OnAnswered(index);
}

}  // namespace kvstream::sim
