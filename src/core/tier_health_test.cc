#include "core/tier_health.h"

#include <gtest/gtest.h>

namespace kvstream::core {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));

class TierHealthTest : public testing::Test {
 protected:
  void Break() {
    for (int error = 0; error < 3; ++error) health_.OnError(kStart);
  }

  TierHealth health_{{.errors_max = 3,
                      .probe_interval_min = milliseconds(100),
                      .probe_interval_max = milliseconds(400)}};
};

TEST_F(TierHealthTest, OpensOnTheLastOfTheErrorsInARow) {
  EXPECT_FALSE(health_.OnError(kStart));
  EXPECT_FALSE(health_.OnError(kStart));
  EXPECT_TRUE(health_.up());
  EXPECT_TRUE(health_.OnError(kStart));
  EXPECT_FALSE(health_.up());
  EXPECT_EQ(health_.times_opened(), 1u);
}

TEST_F(TierHealthTest, ForgetsErrorsAfterASuccess) {
  health_.OnError(kStart);
  health_.OnError(kStart);
  health_.OnSuccess();
  EXPECT_FALSE(health_.OnError(kStart));
  EXPECT_TRUE(health_.up());
}

TEST_F(TierHealthTest, OpensAtOnceWhenAnOperationHangs) {
  EXPECT_TRUE(health_.OnHang(kStart));
  EXPECT_FALSE(health_.up());
  EXPECT_FALSE(health_.OnHang(kStart));
  EXPECT_EQ(health_.times_opened(), 1u);
}

TEST_F(TierHealthTest, ProbesOnceAtATimeAndNotTooSoon) {
  EXPECT_EQ(health_.probe_at(), kNoDeadline);
  Break();
  EXPECT_FALSE(health_.ProbeDue(kStart + milliseconds(99)));
  EXPECT_TRUE(health_.ProbeDue(kStart + milliseconds(100)));
  health_.OnProbeSent();
  EXPECT_FALSE(health_.ProbeDue(kStart + milliseconds(1000)));
  EXPECT_EQ(health_.probe_at(), kNoDeadline);
}

TEST_F(TierHealthTest, DoublesThePauseBetweenProbesUpToALimit) {
  Break();
  TimePoint now = kStart;
  for (const int pause_ms : {100, 200, 400, 400}) {
    EXPECT_EQ(health_.probe_at() - now, milliseconds(pause_ms));
    now = health_.probe_at();
    health_.OnProbeSent();
    EXPECT_FALSE(health_.OnProbeDone(false, now));
  }
}

TEST_F(TierHealthTest, ComesBackWhenAProbeIsAnswered) {
  Break();
  health_.OnProbeSent();
  EXPECT_TRUE(health_.OnProbeDone(true, kStart));
  EXPECT_TRUE(health_.up());
  EXPECT_FALSE(health_.OnError(kStart));  // the old errors do not count
}

}  // namespace
}  // namespace kvstream::core
