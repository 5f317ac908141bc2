#include "kvsim/scenario_flags.h"

#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "base/units.h"
#include "cli/command_line.h"
#include "kvsim/device_file.h"
#include "kvsim/settings.h"
#include "model/presets.h"

namespace kvstream::kvsim {
namespace {

// What a GPU on 16 lanes of PCIe 5.0 gets of its 63 GB/s.
constexpr double kGpuLinkDefault = 55e9;

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<uint64_t> AutoGpuCache(const sim::Scenario& scenario) {
  const uint64_t left = model::KvMemoryBytes(scenario.gpu, scenario.model, scenario.ranks);
  if (left > 0) return left;
  return Refuse(
      fmt::format("--model {}: its weights leave no memory for KV on {} x {}; use more "
                  "ranks (--tp)",
                  scenario.model.name, scenario.ranks, scenario.gpu.name));
}

std::vector<std::string> DefaultPolicies(size_t tiers) {
  if (tiers == 0) return {"none"};
  if (tiers == 1) return {"none", "serial", "single"};
  return {"none", "serial", "single", "kvstream"};
}

}  // namespace

void ScenarioFlags::Bind(CLI::App* app) {
  app->get_formatter()->column_width(34);
  const auto add = [app](const char* group, const char* name, auto& target, const char* help) {
    return app->add_option(name, target, help)->group(group)->capture_default_str();
  };
  add("Serving", "--model", model_, "14B, 32B, 70B or 110B");
  add("Serving", "--gpu", gpu_, "H100, A100-40GB, A100-80GB, H200 or B200");
  add("Serving", "--tp", ranks_, "Tensor-parallel ranks: GPUs of a node");
  add("Serving", "--nodes", nodes_, "Data-parallel nodes; sessions are dealt out in turn");
  add("Serving", "--gpu-cache", gpu_cache_,
      "GPU memory for KV, a rank; auto: 90 % of the GPU without the weights")
      ->type_name("SIZE");
  add("Serving", "--host-cache", host_cache_, "Host memory for KV, a rank")->type_name("SIZE");
  add("Serving", "--batch-requests", running_max_, "Requests running at a time, at most");
  add("Serving", "--batch-tokens", prefill_tokens_max_,
      "Prompt tokens that one prefill step computes, at most (one request always fits)");
  app->add_flag("--store-decoded", store_decoded_, "Stores the KV of answers too")
      ->group("Serving");
  add("Storage", "--device", device_, "Device file, or one of kvsim devices");
  add("Storage", "--tier", tiers_, std::string(kTierFlagHelp).c_str())
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("Storage", "--gpu-link", gpu_link_,
      "Host memory to one GPU; that of the device file, or 55GB/s, if absent")
      ->type_name("BW");
  add("Storage", "--policy", policies_, std::string(kSimPolicyHelp).c_str())
      ->type_name("POLICY")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("Storage", "--write-policy", write_policy_,
      "WRITE of the policies that have several tiers and do not say")
      ->type_name("WRITE");
  add("Storage", "--stage", stage_, "Host memory for writes on their way, a rank")
      ->type_name("SIZE");
  add("Storage", "--stage-full", stage_full_, "wait: the step waits; drop: chunks are not stored");
  add("Storage", "--write-timing", write_timing_,
      "deferred: behind the forward pass; immediate: against the next reads");
  add("Output", "--warmup", warmup_,
      "Left out of the figures: so many first requests, or a time as in 60s");
}

Status ScenarioFlags::ReadServing(Setup* setup) const {
  sim::Scenario& scenario = setup->scenario;
  KVS_TRY(cli::ReadFlag("--model", model::FindModel(model_), &scenario.model));
  KVS_TRY(
      cli::ReadFlag("--gpu", model::FindGpu(gpu_ == "H100" ? "H100-80GB" : gpu_), &scenario.gpu));
  if (ranks_ == 0) return Refuse("--tp: must be above 0");
  scenario.ranks = ranks_;
  scenario.nodes = nodes_;
  if (gpu_cache_ == "auto") {
    KVS_TRY_ASSIGN(scenario.memory.gpu_bytes, AutoGpuCache(scenario));
  } else {
    KVS_TRY(cli::ReadFlag("--gpu-cache", base::ParseBytes(gpu_cache_), &scenario.memory.gpu_bytes));
  }
  scenario.memory.host_bytes = 0;
  scenario.batch = {.running_max = running_max_, .prefill_tokens_max = prefill_tokens_max_};
  scenario.store_decoded = store_decoded_;
  return {};
}

Status ScenarioFlags::ReadTiers(Setup* setup) const {
  std::vector<TierSpec> specs;
  double link = kGpuLinkDefault;
  if (!device_.empty()) {
    KVS_TRY_ASSIGN(DeviceFile device, LoadDevice(device_));
    specs = std::move(device.tiers);
    link = device.gpu_link.value_or(kGpuLinkDefault);
    setup->device = device_;
  }
  for (const std::string& text : tiers_) {
    KVS_TRY_ASSIGN(TierSpec spec, ParseTierFlag(text));
    specs.push_back(std::move(spec));
  }
  for (const TierSpec& spec : specs) {
    KVS_TRY_ASSIGN(sim::TierModel tier, BuildTier(spec));
    for (const sim::TierModel& other : setup->tiers) {
      if (other.name != tier.name) continue;
      return Refuse(fmt::format("{}: there already is a tier {}", spec.origin, tier.name));
    }
    setup->tiers.push_back(std::move(tier));
    if (const auto note = AssumptionOf(spec)) setup->notes.push_back(*note);
  }
  uint64_t given = 0;
  if (!gpu_link_.empty()) {
    KVS_TRY(cli::ReadFlag("--gpu-link", base::ParseBandwidth(gpu_link_), &given));
    if (given == 0) return Refuse("--gpu-link: must be above 0");
    link = static_cast<double>(given);
  }
  setup->scenario.storage.link_bytes_per_second = link;
  return {};
}

Status ScenarioFlags::ReadStorage(Setup* setup) const {
  sim::WriteOptions& write = setup->scenario.storage.write;
  KVS_TRY(cli::ReadFlag("--stage", base::ParseBytes(stage_), &write.stage_bytes));
  if (stage_full_ != "wait" && stage_full_ != "drop") {
    return Refuse(fmt::format("--stage-full {}: neither wait nor drop", stage_full_));
  }
  write.full = stage_full_ == "wait" ? StageFull::kWait : StageFull::kDrop;
  if (write_timing_ != "deferred" && write_timing_ != "immediate") {
    return Refuse(fmt::format("--write-timing {}: neither deferred nor immediate", write_timing_));
  }
  write.timing =
      write_timing_ == "deferred" ? sim::WriteTiming::kDeferred : sim::WriteTiming::kImmediate;
  return {};
}

Status ScenarioFlags::ReadWarmup(Setup* setup) const {
  sim::WarmupOptions& warmup = setup->scenario.warmup;
  const char* const end = warmup_.data() + warmup_.size();
  const auto [stop, error] = std::from_chars(warmup_.data(), end, warmup.requests);
  if (error == std::errc() && stop == end) return {};
  warmup.requests = 0;
  return cli::ReadFlag("--warmup", ParseSeconds(warmup_), &warmup.seconds);
}

Result<Setup> ScenarioFlags::Read() const {
  Setup setup;
  KVS_TRY(ReadServing(&setup));
  KVS_TRY(ReadTiers(&setup));
  KVS_TRY(ReadStorage(&setup));
  KVS_TRY(ReadWarmup(&setup));
  for (const std::string& text :
       policies_.empty() ? DefaultPolicies(setup.tiers.size()) : policies_) {
    KVS_TRY_ASSIGN(SimPolicy policy, ParseSimPolicy(text, setup.tiers, write_policy_));
    setup.policies.push_back(std::move(policy));
  }
  return setup;
}

}  // namespace kvstream::kvsim
