#include "cli/step_former.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

struct Row {
  uint32_t session;
  uint32_t tokens;
};

trace::RequestTrace Trace(std::initializer_list<Row> rows) {
  trace::RequestTrace trace;
  for (const Row& row : rows) {
    trace::Request request;
    request.session = row.session;
    request.input_tokens = row.tokens;
    trace.requests.push_back(request);
  }
  return trace;
}

TEST(StepFormerTest, EndsAtTheLimitOfRequests) {
  const auto trace = Trace({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}});
  const BatchLimits limits{2, 1000};
  EXPECT_EQ(StepEnd(trace, 0, limits), 2u);
  EXPECT_EQ(StepEnd(trace, 2, limits), 4u);
  EXPECT_EQ(StepEnd(trace, 4, limits), 5u);
}

TEST(StepFormerTest, EndsAtTheLimitOfTokens) {
  const auto trace = Trace({{0, 40}, {1, 60}, {2, 1}, {3, 99}});
  const BatchLimits limits{8, 100};
  EXPECT_EQ(StepEnd(trace, 0, limits), 2u);
  EXPECT_EQ(StepEnd(trace, 2, limits), 4u);
}

TEST(StepFormerTest, GivesAnOversizedRequestItsOwnStep) {
  const auto trace = Trace({{0, 500}, {1, 1}});
  const BatchLimits limits{8, 100};
  EXPECT_EQ(StepEnd(trace, 0, limits), 1u);
  EXPECT_EQ(StepEnd(trace, 1, limits), 2u);
}

TEST(StepFormerTest, NeverTakesTwoTurnsOfASessionNorSkipsAhead) {
  const auto trace = Trace({{0, 1}, {1, 1}, {0, 1}, {2, 1}});
  const BatchLimits limits{8, 100};
  EXPECT_EQ(StepEnd(trace, 0, limits), 2u);
  EXPECT_EQ(StepEnd(trace, 2, limits), 4u);
}

}  // namespace
}  // namespace kvstream::cli
