#include "kvsim/model_command.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kvstream/version.h"

#include "base/units.h"
#include "cli/command_line.h"
#include "cli/format.h"
#include "cli/json_file.h"
#include "kvsim/command_end.h"
#include "kvsim/run_table.h"
#include "kvsim/settings.h"
#include "model/bound.h"
#include "model/step.h"

namespace kvstream::kvsim {
namespace {

constexpr double kBytesPerGb = 1e9;

struct ModelFlags {
  std::string read;
  std::string write;
  std::string split;
  std::string demand = "10GB";
  std::string link;
  std::string forward;
  std::string new_bytes;
  std::string json;
};

struct Question {
  std::vector<double> read;
  std::vector<double> write;
  std::vector<double> shares;  // add up to 1
  uint64_t demand_bytes = 0;
  double link = std::numeric_limits<double>::infinity();
  double forward_s = 0;
  uint64_t new_bytes = 0;
};

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<double> ParseRate(std::string_view text) {
  if (const auto number = ParseNumber(text); number && *number >= 0) return *number * kBytesPerGb;
  KVS_TRY_ASSIGN(const uint64_t bandwidth, base::ParseBandwidth(text));
  return static_cast<double>(bandwidth);
}

Result<std::vector<double>> ParseList(std::string_view text, char separator,
                                      Result<double> (*parse)(std::string_view)) {
  std::vector<double> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    KVS_TRY_ASSIGN(const double value, parse(text.substr(begin, end - begin)));
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

Status ReadShares(const ModelFlags& flags, Question* question) {
  if (flags.split.empty()) return {};
  KVS_TRY(cli::ReadFlag("--split", ParseList(flags.split, ':', ParseNumber), &question->shares));
  const double sum = Sum(question->shares);
  const bool valid = std::all_of(question->shares.begin(), question->shares.end(),
                                 [](double share) { return share >= 0; });
  if (!valid || !(sum > 0)) return Refuse("--split: shares must be 0 or more, and not all 0");
  if (question->shares.size() != question->read.size()) {
    return Refuse(fmt::format("--split: {} shares for {} tiers", question->shares.size(),
                              question->read.size()));
  }
  for (double& share : question->shares) share /= sum;
  return {};
}

Result<Question> ReadQuestion(const ModelFlags& flags) {
  Question question;
  KVS_TRY(cli::ReadFlag("--read", ParseList(flags.read, ',', ParseRate), &question.read));
  if (!(question.read[0] > 0)) {
    return Refuse("--read: tier 0, which all tiers are compared with, must be above 0");
  }
  if (!flags.write.empty()) {
    KVS_TRY(cli::ReadFlag("--write", ParseList(flags.write, ',', ParseRate), &question.write));
    if (question.write.size() != question.read.size()) {
      return Refuse(fmt::format("--write: {} bandwidths for {} tiers", question.write.size(),
                                question.read.size()));
    }
  }
  KVS_TRY(ReadShares(flags, &question));
  KVS_TRY(cli::ReadFlag("--demand", base::ParseBytes(flags.demand), &question.demand_bytes));
  if (!flags.link.empty()) {
    KVS_TRY(cli::ReadFlag("--gpu-link", ParseRate(flags.link), &question.link));
    if (!(question.link > 0)) return Refuse("--gpu-link: must be above 0");
  }
  if (!flags.forward.empty()) {
    KVS_TRY(cli::ReadFlag("--forward", ParseSeconds(flags.forward), &question.forward_s));
  }
  if (!flags.new_bytes.empty()) {
    KVS_TRY(cli::ReadFlag("--new", base::ParseBytes(flags.new_bytes), &question.new_bytes));
    if (question.write.empty()) return Refuse("--new: needs --write, the bandwidths to write with");
    if (!(question.forward_s > 0))
      return Refuse("--new: needs --forward, which writes hide behind");
  }
  return question;
}

nlohmann::json Answer(const Question& question) {
  nlohmann::json answer = {{"program", "kvsim"},
                           {"version", KVSTREAM_VERSION},
                           {"command", "model"},
                           {"demand_bytes", question.demand_bytes},
                           {"read", question.read}};
  const double bound_s = model::AggregateBound(question.demand_bytes, question.read, question.link);
  answer["bound_s"] = bound_s;
  answer["phi"] = nlohmann::json::array();
  for (size_t tier = 0; tier < question.read.size(); ++tier) {
    answer["phi"].push_back(model::Phi(question.read, tier));
  }
  const double saving = model::RetrievalSaving(question.read, 0, question.link);
  answer["retrieval_saving"] = saving;
  if (!question.shares.empty()) {
    answer["static_s"] = model::StaticTime(question.demand_bytes, question.shares, question.read);
    answer["static_penalty"] = model::StaticPenalty(question.shares, question.read);
  }
  if (question.forward_s > 0) {
    const double alone_s =
        model::AggregateBound(question.demand_bytes, {&question.read[0], 1}, question.link);
    const model::StepTerms alone = {.retrieval_s = alone_s, .forward_s = question.forward_s};
    answer["step_alone_s"] = model::StepTime(alone);
    answer["step_s"] = model::StepTime({.retrieval_s = bound_s, .forward_s = question.forward_s});
    answer["step_saving"] = model::StepSaving(model::RetrievalShare(alone), saving);
  }
  if (question.new_bytes > 0) {
    answer["write_load"] = model::WriteLoad(question.new_bytes, question.write, question.forward_s);
  }
  return answer;
}

void Print(const nlohmann::json& answer, std::FILE* out) {
  const auto seconds = [&answer](const char* key) {
    const double value = answer[key].get<double>();
    return value < 1e9 ? cli::FormatSeconds(value) : std::string("never");
  };
  fmt::print(out, "bound of the retrieval (Eq. 3)            {}\n", seconds("bound_s"));
  for (size_t tier = 0; tier < answer["phi"].size(); ++tier) {
    fmt::print(out, "tier {}: {}, share of the bandwidth (Eq. 4)  {:.3f}\n", tier,
               FormatGigabytes(answer["read"][tier].get<double>()),
               answer["phi"][tier].get<double>());
  }
  fmt::print(out, "saved against tier 0 alone (Sec 5.3)      {}\n",
             cli::FormatPercent(answer["retrieval_saving"].get<double>()));
  if (answer.contains("static_s")) {
    fmt::print(out, "static split (Eq. 5)                      {}\n", seconds("static_s"));
    fmt::print(out, "over the bound (Eq. 6)                    {:.4g} times\n",
               answer["static_penalty"].get<double>());
  }
  if (answer.contains("step_s")) {
    fmt::print(out, "step with all tiers, with tier 0 (Eq. 1)  {}, {}\n", seconds("step_s"),
               seconds("step_alone_s"));
  }
  if (answer.contains("write_load")) {
    fmt::print(out, "W / min w over the forward pass (Sec 5.3) {:.3g}: {}\n",
               answer["write_load"].get<double>(),
               answer["write_load"].get<double>() <= 1 ? "writes stay hidden"
                                                       : "writes meet the next reads");
  }
}

Status Execute(const ModelFlags& flags) {
  KVS_TRY_ASSIGN(const Question question, ReadQuestion(flags));
  const nlohmann::json answer = Answer(question);
  Print(answer, flags.json == "-" ? stderr : stdout);
  return flags.json.empty() ? Status{} : cli::WriteJson(flags.json, answer);
}

}  // namespace

int ModelCommand(int argc, const char* const* argv) {
  ModelFlags flags;
  CLI::App app(
      "The performance model in closed form, for one step: bound, static split, writes. Bandwidths "
      "are lists, one a tier, in GB/s or with a unit: 7,6 or 7GB/s,800MB/s.",
      "kvsim model");
  const auto add = [&app](const char* name, std::string& target, const char* help) {
    return app.add_option(name, target, help)->capture_default_str();
  };
  add("--read", flags.read, "Read bandwidths")->required()->type_name("LIST");
  add("--write", flags.write, "Write bandwidths")->type_name("LIST");
  add("--split", flags.split, "Static shares, as in 75:25")->type_name("SHARES");
  add("--demand", flags.demand, "What the step reads (D_i)")->type_name("SIZE");
  add("--gpu-link", flags.link, "Host memory to the GPU")->type_name("BW");
  add("--forward", flags.forward, "Forward pass of the step")->type_name("TIME");
  add("--new", flags.new_bytes, "What the step must write (W_i)")->type_name("SIZE");
  add("--json", flags.json, "Writes the figures; - is stdout")->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("model", Execute(flags));
}

}  // namespace kvstream::kvsim
