#include "cli/tier_config.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/units.h"

namespace kvstream::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFileBlockBytes = 4 * kKiB;  // padding and footer of a chunk's file
constexpr std::string_view kTierKeyNames =
    "capacity, limit, write-limit, latency, landing, backend, window, shared";

constexpr std::array<EngineKey, 12> kEngineKeys = {{
    {"owner", "name under which this process owns what it writes (host name)"},
    {"stage", "memory for staged writes, SIZE (1GiB)"},
    {"high-water", "share of the stage above which writes go out during reads (0.75)"},
    {"age", "age at which a staged write goes out during reads, TIME (10s)"},
    {"idle-delay", "reads idle for this long let writes go, TIME (20ms)"},
    {"stage-full", "drop or wait (drop)"},
    {"write-window", "bytes of writes in flight per tier, SIZE (16MiB)"},
    {"verify", "on or off: checksum of every block read (on)"},
    {"bounce", "engine memory for bounced reads, SIZE (128MiB)"},
    {"read-order", "job or pool: what plain --policy kvstream uses (job)"},
    {"deadline", "deadline of one step's reads, TIME; 0 is none (0)"},
    {"hang-after", "an operation in flight for longer sets its tier aside, TIME (2s)"},
}};

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Assigns a Result to *target, or passes its Error on.
template <typename T>
Status Assign(Result<T> value, T* target) {
  if (!value) return std::move(value).error();
  *target = *value;
  return {};
}

template <typename Choice>
Status AssignChoice(std::string_view value,
                    std::span<const std::pair<std::string_view, Choice>> choices, Choice* target) {
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (name == value) {
      *target = choice;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return Invalid(fmt::format("\"{}\" is none of {}", value, names));
}

Status AssignBool(std::string_view value, bool* target) {
  static constexpr std::pair<std::string_view, bool> kChoices[] = {{"true", true},
                                                                   {"false", false}};
  return AssignChoice<bool>(value, kChoices, target);
}

Status AssignShare(std::string_view value, double* target) {
  double share = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), share);
  if (error != std::errc() || end != value.data() + value.size() || !(share > 0 && share <= 1)) {
    return Invalid(fmt::format("\"{}\" is not a share above 0 and at most 1", value));
  }
  *target = share;
  return {};
}

Status AssignPositive(std::string_view value, uint64_t* target) {
  KVS_TRY(Assign(base::ParseBytes(value), target));
  if (*target == 0) return Invalid(fmt::format("\"{}\" must be above 0", value));
  return {};
}

Status AssignLanding(std::string_view value, Landing* target) {
  static constexpr std::pair<std::string_view, Landing> kChoices[] = {
      {"auto", Landing::kAuto}, {"direct", Landing::kDirect}, {"bounce", Landing::kBounce}};
  return AssignChoice<Landing>(value, kChoices, target);
}

Status AssignBackend(std::string_view value, BackendKind* target) {
  static constexpr std::pair<std::string_view, BackendKind> kChoices[] = {
      {"auto", BackendKind::kAuto},
      {"uring", BackendKind::kUring},
      {"threads", BackendKind::kThreads}};
  return AssignChoice<BackendKind>(value, kChoices, target);
}

Status SetTierValue(std::string_view key, std::string_view value, TierOptions* tier) {
  if (key == "capacity") return AssignPositive(value, &tier->capacity_bytes);
  if (key == "limit")
    return Assign(base::ParseBandwidth(value), &tier->shape.read_bytes_per_second);
  if (key == "write-limit") {
    return Assign(base::ParseBandwidth(value), &tier->shape.write_bytes_per_second);
  }
  if (key == "latency") return Assign(base::ParseDuration(value), &tier->shape.latency);
  if (key == "landing") return AssignLanding(value, &tier->landing);
  if (key == "backend") return AssignBackend(value, &tier->backend);
  if (key == "window") return AssignPositive(value, &tier->window_bytes_max);
  if (key == "shared") return AssignBool(value, &tier->shared);
  return Invalid(fmt::format("unknown key; known: {}", kTierKeyNames));
}

Status SetWriteValue(std::string_view key, std::string_view value, WriteOptions* write) {
  static constexpr std::pair<std::string_view, StageFull> kFull[] = {{"drop", StageFull::kDrop},
                                                                     {"wait", StageFull::kWait}};
  if (key == "stage") return AssignPositive(value, &write->stage_bytes);
  if (key == "high-water") return AssignShare(value, &write->high_water);
  if (key == "age") return Assign(base::ParseDuration(value), &write->age_max);
  if (key == "idle-delay") return Assign(base::ParseDuration(value), &write->idle_delay);
  if (key == "write-window") return AssignPositive(value, &write->window_bytes);
  return AssignChoice<StageFull>(value, kFull, &write->full);
}

Status SetEngineValue(std::string_view key, std::string_view value, EngineArgs* args) {
  static constexpr std::pair<std::string_view, Verify> kVerify[] = {{"on", Verify::kAlways},
                                                                    {"off", Verify::kOff}};
  static constexpr std::pair<std::string_view, PoolOrder> kOrder[] = {{"job", PoolOrder::kJob},
                                                                      {"pool", PoolOrder::kPool}};
  if (key == "owner") {
    args->options.owner = value;
    return {};
  }
  if (key == "verify") return AssignChoice<Verify>(value, kVerify, &args->options.verify);
  if (key == "bounce") return AssignPositive(value, &args->options.bounce_bytes);
  if (key == "read-order") return AssignChoice<PoolOrder>(value, kOrder, &args->order);
  if (key == "deadline") return Assign(base::ParseDuration(value), &args->deadline);
  if (key == "hang-after") return Assign(base::ParseDuration(value), &args->options.hang_after);
  return SetWriteValue(key, value, &args->options.write);
}

Status InKey(std::string_view key, Status status) {
  if (status) return status;
  return std::move(status).error().WithContext(key);
}

Error AtOrigin(const TierArg& tier, std::string message,
               ErrorCode code = ErrorCode::kInvalidArgument) {
  return {code, fmt::format("{}: {}", tier.origin, message)};
}

Status CheckDirectory(const TierArg& tier) {
  std::error_code error;
  const fs::file_status status = fs::status(tier.options.directory, error);
  if (status.type() == fs::file_type::not_found) {
    return AtOrigin(tier, fmt::format("no directory {}", tier.options.directory.string()),
                    ErrorCode::kNotFound);
  }
  if (error) {
    return AtOrigin(tier, fmt::format("{}: {}", tier.options.directory.string(), error.message()));
  }
  if (status.type() != fs::file_type::directory) {
    return AtOrigin(tier, fmt::format("{} is not a directory", tier.options.directory.string()));
  }
  return {};
}

Status CheckOneTier(const TierArg& tier, uint64_t chunk_bytes) {
  if (tier.options.name.empty()) return AtOrigin(tier, "the tier has no name");
  if (tier.options.directory.empty()) return AtOrigin(tier, "the tier has no directory");
  if (tier.options.capacity_bytes == 0) return AtOrigin(tier, "the tier needs capacity=SIZE");
  KVS_TRY(CheckDirectory(tier));
  const uint64_t file_bytes =
      (chunk_bytes + kFileBlockBytes - 1) / kFileBlockBytes * kFileBlockBytes + kFileBlockBytes;
  if (tier.options.capacity_bytes < file_bytes) {
    return AtOrigin(tier, fmt::format("capacity of {} is below one chunk, which takes {} on disk",
                                      base::FormatBytes(tier.options.capacity_bytes),
                                      base::FormatBytes(file_bytes)));
  }
  return {};
}

// True if `inner` is `outer` or lies in it; both canonical.
bool Contains(const fs::path& outer, const fs::path& inner) {
  auto part = inner.begin();
  for (const auto& expected : outer) {
    if (part == inner.end() || *part != expected) return false;
    ++part;
  }
  return true;
}

Status CheckPair(const TierArg& first, const TierArg& second) {
  if (first.options.name == second.options.name) {
    return AtOrigin(second, fmt::format("a second tier named {}", second.options.name));
  }
  std::error_code error;
  const fs::path a = fs::canonical(first.options.directory, error);
  if (error) return AtOrigin(first, error.message());
  const fs::path b = fs::canonical(second.options.directory, error);
  if (error) return AtOrigin(second, error.message());
  if (a == b) {
    return AtOrigin(second, fmt::format("{} is the directory of tier {} already", b.string(),
                                        first.options.name));
  }
  if (Contains(a, b) || Contains(b, a)) {
    return AtOrigin(second, fmt::format("directories of tiers are nested: {} and {} (tier {})",
                                        b.string(), a.string(), first.options.name));
  }
  return {};
}

}  // namespace

std::span<const EngineKey> EngineKeys() { return kEngineKeys; }

Status SetTierKey(std::string_view key, std::string_view value, TierOptions* tier) {
  return InKey(key, SetTierValue(key, value, tier));
}

Status SetEngineKey(std::string_view key, std::string_view value, EngineArgs* args) {
  for (const EngineKey& known : kEngineKeys) {
    if (known.key == key) return InKey(key, SetEngineValue(key, value, args));
  }
  std::string names;
  for (const EngineKey& known : kEngineKeys) {
    names += (names.empty() ? "" : ", ") + std::string(known.key);
  }
  return Invalid(fmt::format("{}: unknown key; known: {}", key, names));
}

Result<TierArg> ParseTierFlag(std::string_view text) {
  TierArg tier;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    const bool has_value = equals < item.size();
    const std::string_view value = has_value ? item.substr(equals + 1) : "true";
    if (begin == 0) {
      tier.origin = fmt::format("--tier {}", key);
      if (key.empty() || !has_value || value.empty()) {
        return Invalid(
            fmt::format("--tier {}: does not begin with NAME=DIR; expected {}", text, kTierHelp));
      }
      tier.options.name = key;
      tier.options.directory = value;
    } else if (auto set = SetTierKey(key, value, &tier.options); !set) {
      return std::move(set).error().WithContext(tier.origin);
    }
    begin = end + 1;
  }
  return tier;
}

Status CheckTiers(std::span<const TierArg> tiers, uint64_t chunk_bytes) {
  if (tiers.empty())
    return Invalid("no tier given; use --tier NAME=DIR,capacity=SIZE or --config FILE");
  if (tiers.size() > kTiersMax) {
    return Invalid(fmt::format("{} tiers given; at most {}", tiers.size(), kTiersMax));
  }
  for (const TierArg& tier : tiers) KVS_TRY(CheckOneTier(tier, chunk_bytes));
  for (size_t second = 1; second < tiers.size(); ++second) {
    for (size_t first = 0; first < second; ++first) KVS_TRY(CheckPair(tiers[first], tiers[second]));
  }
  return {};
}

EngineOptions MakeEngineOptions(const EngineArgs& args) {
  EngineOptions options = args.options;
  options.tiers.clear();
  for (const TierArg& tier : args.tiers) {
    options.tiers.push_back(tier.options);
    ShapeOptions& shape = options.tiers.back().shape;
    if (shape.write_bytes_per_second == 0) {
      shape.write_bytes_per_second = shape.read_bytes_per_second;
    }
  }
  options.routing.order = args.order;
  return options;
}

}  // namespace kvstream::cli
