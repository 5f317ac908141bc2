#include "io/probe.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "io/posix_file_system.h"
#include "testing/sim_io.h"
#include "testing/temp_dir.h"

namespace kvstream::io {
namespace {

constexpr uint64_t kFuseMagic = 0x65735546;

// SimBackend never waits, so time has to move whenever somebody looks.
class EagerBackend final : public IoBackend {
 public:
  EagerBackend(test::SimFileSystem& files, test::FaultPlan* faults)
      : backend_(files, device_, clock_, {64, faults}) {}
  void Enqueue(IoRequest& request) override { backend_.Enqueue(request); }
  void Submit() override { backend_.Submit(); }
  size_t Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) override {
    backend_.Submit();
    clock_.AdvanceTo(backend_.NextCompletion());
    return backend_.Reap(out, timeout);
  }
  void Wake() override {}
  size_t in_flight() const override { return backend_.in_flight(); }
  size_t depth() const override { return backend_.depth(); }
  const char* name() const override { return "eager"; }

 private:
  test::SimClock clock_;
  test::SimDevice device_;
  test::SimBackend backend_;
};

class ProbeTest : public ::testing::Test {
 protected:
  Result<ProbeResult> RunProbe(test::SimFileSystemOptions file_options = {},
                               BackendKind kind = BackendKind::kAuto) {
    file_options.faults = &faults_;
    files_ = std::make_unique<test::SimFileSystem>(file_options);
    EXPECT_EQ(files_->MakeDirectory("/tier"), 0);
    ProbeOptions options;
    options.directory = "/tier";
    options.temporary_name = ".probe";
    options.backend = kind;
    auto result =
        Probe(*files_, options, [this](BackendKind made) -> Result<std::unique_ptr<IoBackend>> {
          if (made == BackendKind::kUring && uring_refused_) {
            return Error(ErrorCode::kUnsupported, "cannot create an io_uring (seccomp)", EPERM);
          }
          return std::make_unique<EagerBackend>(*files_, &faults_);
        });
    EXPECT_TRUE(files_->AllFiles().empty()) << "the probe left its file";
    EXPECT_EQ(files_->open_files(), 0u) << "the probe left a descriptor";
    return result;
  }

  void Fail(test::FaultOp op, test::FaultKind kind, int error, uint64_t first) {
    test::FaultRule rule;
    rule.op = op;
    rule.kind = kind;
    rule.error = error;
    rule.first = first;
    faults_.Add(rule);
  }

  test::FaultPlan faults_{1};
  std::unique_ptr<test::SimFileSystem> files_;
  bool uring_refused_ = false;
};

TEST_F(ProbeTest, ALocalFileSystemGetsUringDirectAndDirectLanding) {
  const auto result = RunProbe();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->backend, BackendKind::kUring);
  EXPECT_TRUE(result->direct);
  EXPECT_EQ(result->landing, Landing::kDirect);
  EXPECT_EQ(result->reason, "io_uring, O_DIRECT: local file system (0xef53)");
}

TEST_F(ProbeTest, ARemoteFileSystemGetsThreadsAndBounceLanding) {
  test::SimFileSystemOptions options;
  options.magic = kFuseMagic;
  const auto result = RunProbe(options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->backend, BackendKind::kThreads);
  EXPECT_EQ(result->landing, Landing::kBounce);
}

TEST_F(ProbeTest, WhatTheUserChoseStands) {
  test::SimFileSystemOptions options;
  options.magic = kFuseMagic;
  const auto result = RunProbe(options, BackendKind::kUring);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->backend, BackendKind::kUring);
}

TEST_F(ProbeTest, DirectRefusedAtOpenMeansBuffered) {
  test::SimFileSystemOptions options;
  options.direct = false;
  const auto result = RunProbe(options);
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->direct);
  EXPECT_EQ(result->backend, BackendKind::kUring);
  EXPECT_NE(result->reason.find("O_DIRECT refused"), std::string::npos);
}

TEST_F(ProbeTest, DirectRefusedAtTheFirstTransferMeansBuffered) {
  for (const test::FaultOp op : {test::FaultOp::kWrite, test::FaultOp::kRead}) {
    faults_.Clear();
    Fail(op, test::FaultKind::kErrno, EINVAL, 1);
    const auto result = RunProbe();
    ASSERT_TRUE(result.has_value());
    EXPECT_FALSE(result->direct);
  }
}

TEST_F(ProbeTest, ARefusedUringMeansThreadsUnlessAskedForByName) {
  uring_refused_ = true;
  const auto automatic = RunProbe();
  ASSERT_TRUE(automatic.has_value());
  EXPECT_EQ(automatic->backend, BackendKind::kThreads);
  EXPECT_NE(automatic->reason.find("io_uring refused"), std::string::npos);
  const auto chosen = RunProbe({}, BackendKind::kUring);
  ASSERT_FALSE(chosen.has_value());
  EXPECT_EQ(chosen.error().code(), ErrorCode::kUnsupported);
}

TEST_F(ProbeTest, AUringThatFailsAtTheTransferMeansThreads) {
  Fail(test::FaultOp::kWrite, test::FaultKind::kErrno, EOPNOTSUPP, 1);
  const auto result = RunProbe();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->backend, BackendKind::kThreads);
  EXPECT_TRUE(result->direct);
}

TEST_F(ProbeTest, OtherErrorsAreToldWithTheirErrno) {
  const struct {
    test::FaultOp op;
    int error;
    ErrorCode code;
  } cases[] = {
      {test::FaultOp::kOpen, EACCES, ErrorCode::kIo},
      {test::FaultOp::kOpen, EROFS, ErrorCode::kIo},
      {test::FaultOp::kWrite, ENOSPC, ErrorCode::kNoSpace},
      {test::FaultOp::kWrite, EIO, ErrorCode::kIo},
      {test::FaultOp::kRead, EIO, ErrorCode::kIo},
  };
  for (const auto& tested : cases) {
    faults_.Clear();
    Fail(tested.op, test::FaultKind::kErrno, tested.error, 1);
    const auto result = RunProbe();
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), tested.code);
    EXPECT_EQ(result.error().errno_value(), tested.error);
  }
}

TEST_F(ProbeTest, OtherBytesThanWrittenAreCorruption) {
  Fail(test::FaultOp::kRead, test::FaultKind::kFlipRead, 0, 1);
  const auto flipped = RunProbe();
  ASSERT_FALSE(flipped.has_value());
  EXPECT_EQ(flipped.error().code(), ErrorCode::kCorruption);
  faults_.Clear();
  Fail(test::FaultOp::kRead, test::FaultKind::kShort, 0, 1);
  const auto cut = RunProbe();
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code(), ErrorCode::kIo);
}

TEST_F(ProbeTest, AMissingDirectoryIsNotFound) {
  test::SimFileSystem files;
  ProbeOptions options;
  options.directory = "/missing";
  options.temporary_name = "x";
  const auto result = Probe(files, options, nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), ErrorCode::kNotFound);
}

TEST(ProbeDeviceTest, ARealDirectoryIsProbedAndLeftEmpty) {
  const test::TempDir dir;
  PosixFileSystem files;
  const base::SteadyClock clock;
  for (const BackendKind kind : {BackendKind::kAuto, BackendKind::kThreads}) {
    ProbeOptions options;
    options.directory = dir.path().string();
    options.temporary_name = ".probe";
    options.backend = kind;
    const auto result = Probe(files, options, [&](BackendKind made) {
      BackendOptions backend_options;
      backend_options.kind = made;
      backend_options.depth = 2;
      return MakeBackend(backend_options, clock);
    });
    ASSERT_TRUE(result.has_value()) << result.error().ToString();
    EXPECT_NE(result->backend, BackendKind::kAuto);
    EXPECT_NE(result->landing, Landing::kAuto);
    EXPECT_FALSE(result->reason.empty());
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  }
}

TEST(IsRemoteFileSystemTest, TellsNetworkFromLocal) {
  for (const uint64_t magic : {0x65735546u, 0x6969u, 0x0bd00bd0u, 0x47504653u, 0xff534d42u}) {
    EXPECT_TRUE(IsRemoteFileSystem(magic)) << magic;
  }
  for (const uint64_t magic : {0xef53u, 0x58465342u, 0x9123683eu, 0x01021994u, 0x794c7630u}) {
    EXPECT_FALSE(IsRemoteFileSystem(magic)) << magic;
  }
}

}  // namespace
}  // namespace kvstream::io
