#include "trace/document_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/prng.h"
#include "trace/csv_lines.h"
#include "trace/files.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint64_t kDocumentsMax = 1'000'000;
constexpr uint64_t kQuestionsMax = 10'000;  // of one document

// Requests, mean prompt, distinct chunks and reuse come out as in the paper's runs of LooGLE
// (merged long-dependency QA, short-dependency QA and cloze), NarrativeQA and CUAD. The figures are
// in workloads_test.cc. CUAD's mean is that of its prompts less the question.
constexpr std::array<DocumentWorkload, 3> kWorkloads{{
    {.kind = "loogle",
     .documents = 156,
     .words = {.mean = 20'400, .sigma = 0.6, .min = 2000, .max = 32'000},
     .questions_mean = 20.5,
     .questions_sd = 6,
     .length_correlation = 0.9,
     .question_tokens_min = 20,
     .question_tokens_max = 60,
     .output_tokens_min = 50,
     .output_tokens_max = 300},
    {.kind = "narrativeqa",
     .documents = 84,
     .words = {.mean = 34'000, .sigma = 0.6, .min = 5000, .max = 80'000},
     .tokens_per_word = 1.35,
     .questions_mean = 30,
     .question_tokens_min = 10,
     .question_tokens_max = 30,
     .output_tokens_min = 5,
     .output_tokens_max = 50},
    {.kind = "cuad",
     .documents = 281,
     .words = {.mean = 10'700, .sigma = 0.6, .min = 500, .max = 60'000},
     .questions_mean = 35.6,
     .question_tokens_min = 12,
     .question_tokens_max = 36,
     .output_tokens_min = 20,
     .output_tokens_max = 200},
}};

struct Document {
  uint32_t tokens = 0;
  uint64_t questions = 0;
};

Result<std::vector<double>> ReadWordCounts(const std::string& path, double words_max) {
  KVS_TRY_ASSIGN(std::string text, ReadTextFile(path));
  CsvLines lines(path, std::move(text));
  KVS_TRY(lines.ReadHeader());
  KVS_TRY_ASSIGN(const size_t column, lines.Column("story_word_count"));
  std::vector<double> counts;
  while (true) {
    KVS_TRY_ASSIGN(const std::optional<CsvLines::Row> row, lines.Next());
    if (!row) return counts;
    KVS_TRY_ASSIGN(const uint64_t words, lines.Integer((*row)[column], "story_word_count",
                                                       {1, uint64_t{kPromptTokensMax}}));
    const double count = static_cast<double>(words);
    if (count <= words_max) counts.push_back(count);
  }
}

class DocumentGenerator {
 public:
  DocumentGenerator(const DocumentWorkload& workload, std::string_view source,
                    const TraceOptions& options)
      : workload_(workload), prng_(workload.seed), builder_(source, options) {}

  /// One value out of each of `documents` equally likely ranges: the sums differ little from seed
  /// to seed.
  std::vector<double> DrawWordCounts() {
    const base::TruncatedLognormal words(workload_.words);
    const double count = static_cast<double>(workload_.documents);
    std::vector<double> drawn;
    for (uint64_t i = 0; i < workload_.documents; ++i) {
      const double within = std::clamp(prng_.Uniform(), 1e-9, 1 - 1e-9);
      drawn.push_back(words.Quantile((static_cast<double>(i) + within) / count));
    }
    return drawn;
  }

  Result<RequestTrace> Run(std::vector<double> word_counts) {
    base::Shuffle(prng_, word_counts);
    word_counts.resize(workload_.documents);
    std::vector<Document> documents = ToDocuments(word_counts);
    std::vector<std::vector<double>> places = DealPlaces(documents);
    for (size_t i = 0; i < documents.size() && !builder_.full(); ++i) {
      AddDocument(documents[i], places[i]);
    }
    KVS_TRY_ASSIGN(RequestTrace trace,
                   builder_.Finish(ArrivalClock::kTrace, /*has_sessions=*/true));
    trace.clock = ArrivalClock::kNone;
    for (Request& request : trace.requests) request.arrival_s = 0;
    return trace;
  }

 private:
  std::vector<Document> ToDocuments(const std::vector<double>& word_counts) {
    const double count = static_cast<double>(word_counts.size());
    double sum = 0;
    for (const double words : word_counts) sum += words;
    const double mean = sum / count;
    double squares = 0;
    for (const double words : word_counts) squares += (words - mean) * (words - mean);
    const double sd = std::sqrt(squares / count);
    const double correlation = workload_.length_correlation;
    std::vector<Document> documents;
    double owed = 0;  // questions lost or won by rounding
    for (const double words : word_counts) {
      const double length = sd > 0 ? (words - mean) / sd : 0;
      const double chance = std::sqrt(1 - correlation * correlation) * base::Normal(prng_);
      owed += std::max(
          1.0, workload_.questions_mean + workload_.questions_sd * (correlation * length + chance));
      const double questions = std::max(1.0, std::round(owed));
      owed -= questions;
      documents.push_back(
          {.tokens = static_cast<uint32_t>(std::lround(words * workload_.tokens_per_word)),
           .questions = static_cast<uint64_t>(questions)});
    }
    return documents;
  }

  /// Places in the order of all requests, in rising order for each document.
  std::vector<std::vector<double>> DealPlaces(const std::vector<Document>& documents) {
    std::vector<size_t> order;
    for (size_t i = 0; i < documents.size(); ++i) {
      order.insert(order.end(), documents[i].questions, i);
    }
    base::Shuffle(prng_, order);
    std::vector<std::vector<double>> places(documents.size());
    for (size_t place = 0; place < order.size(); ++place) {
      places[order[place]].push_back(static_cast<double>(place));
    }
    return places;
  }

  void AddDocument(const Document& document, const std::vector<double>& places) {
    builder_.BeginSession();
    SourceRow row;
    for (const double place : places) {
      row.arrival_s = place;
      row.input_tokens =
          document.tokens + Between(workload_.question_tokens_min, workload_.question_tokens_max);
      row.output_tokens = Between(workload_.output_tokens_min, workload_.output_tokens_max);
      const std::optional<uint32_t> added = builder_.AddRequest(row);
      if (!added) break;
      row.parent = *added;
      row.shared_tokens = document.tokens;
    }
    builder_.EndSession();
  }

  uint32_t Between(uint32_t min, uint32_t max) {
    return min + static_cast<uint32_t>(prng_.Below(max - min + 1));
  }

  const DocumentWorkload workload_;
  base::Prng prng_;
  TraceBuilder builder_;
};

}  // namespace

std::span<const DocumentWorkload> DocumentWorkloads() { return kWorkloads; }

Result<RequestTrace> GenerateDocuments(BuiltinParameters& parameters, DocumentWorkload workload,
                                       const TraceOptions& options) {
  const bool reads_lengths = workload.kind == "narrativeqa";
  std::string lengths;
  parameters.AddCount("documents", &workload.documents, {1, kDocumentsMax});
  parameters.AddNumber("questions", &workload.questions_mean, 1, kQuestionsMax);
  parameters.AddCount("seed", &workload.seed, {0, UINT64_MAX});
  if (reads_lengths) parameters.AddText("lengths", &lengths);
  KVS_TRY(parameters.Assign());
  const double requests = workload.questions_mean * static_cast<double>(workload.documents);
  if (requests > 10e6) return parameters.Invalid("more than 10000000 requests");
  DocumentGenerator generator(workload, parameters.source(), options);
  if (lengths.empty()) return generator.Run(generator.DrawWordCounts());
  KVS_TRY_ASSIGN(std::vector<double> counts, ReadWordCounts(lengths, workload.words.max));
  if (counts.size() < workload.documents) {
    return parameters.Invalid(fmt::format("{} has {} documents of up to {:g} words; {} are needed",
                                          lengths, counts.size(), workload.words.max,
                                          workload.documents));
  }
  return generator.Run(std::move(counts));
}

}  // namespace kvstream::trace
