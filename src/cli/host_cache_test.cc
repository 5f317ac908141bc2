#include "cli/host_cache.h"

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

TEST(HostCacheTest, EvictsTheTailOfTheOldestPrefixFirst) {
  HostCache cache(5 * 100 + 99, 100);
  cache.Use({0, 1, 2});
  cache.Use({3, 4, 5});
  EXPECT_EQ(cache.used_bytes(), 500u);
  EXPECT_TRUE(cache.Contains(0));
  EXPECT_TRUE(cache.Contains(1));
  EXPECT_FALSE(cache.Contains(2));
  EXPECT_TRUE(cache.Contains(5));
}

TEST(HostCacheTest, UsingAPrefixAgainKeepsIt) {
  HostCache cache(400, 100);
  cache.Use({0, 1});
  cache.Use({2, 3});
  cache.Use({0, 1});
  cache.Use({4});
  EXPECT_TRUE(cache.Contains(0));
  EXPECT_TRUE(cache.Contains(1));
  EXPECT_TRUE(cache.Contains(2));
  EXPECT_FALSE(cache.Contains(3));
}

TEST(HostCacheTest, WithoutRoomForAChunkItKeepsNothing) {
  HostCache cache(99, 100);
  cache.Use({0});
  EXPECT_FALSE(cache.Contains(0));
}

TEST(HostCacheTest, KeepsTheHeadOfAPrefixLargerThanTheCache) {
  HostCache cache(200, 100);
  cache.Use({0, 1, 2, 3});
  EXPECT_TRUE(cache.Contains(0));
  EXPECT_TRUE(cache.Contains(1));
  EXPECT_FALSE(cache.Contains(3));
}

}  // namespace
}  // namespace kvstream::cli
