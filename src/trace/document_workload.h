#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kvstream/status.h"

#include "base/distributions.h"
#include "trace/builtin_parameters.h"
#include "trace/request_trace.h"

namespace kvstream::trace {

/// Documents that are asked several questions each, as in the paper's offline workloads: every
/// prompt is a document and one question. All requests are there from the start (closed loop) and
/// come in random order.
struct DocumentWorkload {
  std::string_view kind;
  uint64_t documents = 0;
  base::TruncatedLognormal::Shape words;  ///< Of a document; tokens where a word is one token.
  double tokens_per_word = 1;
  double questions_mean = 0;  ///< For one document.
  double questions_sd = 0;
  double length_correlation = 0;  ///< Between the words and the questions of a document.
  uint32_t question_tokens_min = 0;
  uint32_t question_tokens_max = 0;
  uint32_t output_tokens_min = 0;
  uint32_t output_tokens_max = 0;
  uint64_t seed = 1;
};

/// loogle, narrativeqa and cuad with the sizes of the paper's runs.
std::span<const DocumentWorkload> DocumentWorkloads();

/// Parameters: documents, questions (mean), seed; narrativeqa also lengths, a CSV file with a
/// column story_word_count, from which documents of up to 80,000 words are drawn (read; kNotFound,
/// kIo).
Result<RequestTrace> GenerateDocuments(BuiltinParameters& parameters, DocumentWorkload workload,
                                       const TraceOptions& options);

}  // namespace kvstream::trace
