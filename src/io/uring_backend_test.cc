#include "io/uring_backend.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::io {
namespace {

using std::chrono::seconds;

// Makes a system call fail with `error` in this process from now on. False where seccomp
// is missing.
bool RefuseSystemCall(long number, int error) {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Exit status of a child that could not refuse anything.
constexpr int kNoSeccomp = 77;

class UringBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = UringBackend::Create({4});
    if (!backend) GTEST_SKIP() << backend.error().ToString();
    backend_ = std::move(*backend);
  }

  std::unique_ptr<UringBackend> backend_;
};

// Runs in a child: 0 if Create fails with `code` and says `hint`.
int TryCreateRefused(int error, ErrorCode code, const char* hint) {
  if (!RefuseSystemCall(SYS_io_uring_setup, error)) return kNoSeccomp;
  const auto backend = UringBackend::Create({4});
  if (backend.has_value() || backend.error().code() != code) return 1;
  if (backend.error().errno_value() != error) return 2;
  return backend.error().message().find(hint) == std::string::npos ? 3 : 0;
}

TEST_F(UringBackendTest, ARefusedRingNamesTheLikelyCause) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // kernel workers count as threads
  const auto run = [](int error, ErrorCode code, const char* hint) {
    EXPECT_EXIT(
        std::_Exit(TryCreateRefused(error, code, hint)),
        [](int status) {
          return WIFEXITED(status) &&
                 (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoSeccomp);
        },
        "");
  };
  run(ENOSYS, ErrorCode::kUnsupported, "seccomp");
  run(EPERM, ErrorCode::kUnsupported, "kernel.io_uring_disabled");
  run(EINVAL, ErrorCode::kUnsupported, "5.11");
  run(ENOMEM, ErrorCode::kNoSpace, "RLIMIT_MEMLOCK");
  run(EMFILE, ErrorCode::kIo, "io_uring");
}

// Runs in a child: 0 if every request fails with `error` once io_uring_enter does, and Wake
// still works.
int TryEnterRefused(int error) {
  auto created = UringBackend::Create({4});
  if (!created) return 4;
  UringBackend& backend = **created;
  if (!RefuseSystemCall(SYS_io_uring_enter, error)) return kNoSeccomp;
  std::array<std::byte, 64> memory{};
  iovec entry{memory.data(), memory.size()};
  std::array<IoRequest, 3> requests;
  for (IoRequest& request : requests) {
    request.iov = {&entry, 1};
    request.bytes = memory.size();
  }
  backend.Enqueue(requests[0]);
  backend.Enqueue(requests[1]);
  backend.Submit();
  size_t back = 0;
  std::array<IoRequest*, 4> out;
  while (back < 2) back += backend.Reap(out, seconds(1));
  backend.Enqueue(requests[2]);  // after the ring is known to be broken
  while (back < 3) back += backend.Reap(out, seconds(1));
  for (const IoRequest& request : requests) {
    if (request.result != -error) return 1;
  }
  for (int round = 0; round < 3; ++round) {
    backend.Wake();
    if (backend.Reap(out, std::chrono::hours(1)) != 0) return 2;
  }
  return backend.in_flight() == 0 ? 0 : 3;
}

TEST_F(UringBackendTest, ARingThatRefusesToSubmitFailsItsRequests) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int error : {EBADF, EAGAIN, EBUSY, ENOMEM}) {
    SCOPED_TRACE(error);
    EXPECT_EXIT(
        std::_Exit(TryEnterRefused(error)),
        [](int status) {
          return WIFEXITED(status) &&
                 (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoSeccomp);
        },
        "");
  }
}

// A pipe gives what it has: real short transfers, at multiples of 4 KiB.
TEST_F(UringBackendTest, ShortReadsAreContinued) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  std::vector<std::byte> memory(4 * 4096);
  std::array<iovec, 2> entries = {{{memory.data(), 8192}, {memory.data() + 8192, 8192}}};
  IoRequest request;
  request.fd = ends[0];
  request.iov = entries;
  request.bytes = static_cast<uint32_t>(memory.size());
  backend_->Enqueue(request);
  backend_->Submit();
  for (int part = 0; part < 4; ++part) {
    std::array<IoRequest*, 1> out;
    ASSERT_EQ(backend_->Reap(out, std::chrono::milliseconds(2)), 0u);
    const std::vector<std::byte> data(4096, static_cast<std::byte>(part + 1));
    ASSERT_EQ(write(ends[1], data.data(), data.size()), 4096);
  }
  std::array<IoRequest*, 1> out;
  ASSERT_EQ(backend_->Reap(out, std::chrono::hours(1)), 1u);
  EXPECT_EQ(request.result, 4 * 4096);
  for (size_t at = 0; at < memory.size(); ++at) {
    ASSERT_EQ(memory[at], static_cast<std::byte>(at / 4096 + 1)) << at;
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(UringBackendTest, TheDestructorWaitsForWhatTheKernelHolds) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  std::vector<std::byte> memory(4096);
  iovec entry{memory.data(), memory.size()};
  IoRequest request;
  request.fd = ends[0];
  request.iov = {&entry, 1};
  request.bytes = 4096;
  backend_->Enqueue(request);
  backend_->Submit();
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::vector<std::byte> data(4096, std::byte{9});
    EXPECT_EQ(write(ends[1], data.data(), data.size()), 4096);
  });
  backend_.reset();
  // Had the ring been closed with the read in flight, this would be a race with the kernel.
  EXPECT_EQ(memory[0], std::byte{9});
  writer.join();
  close(ends[0]);
  close(ends[1]);
}

TEST_F(UringBackendTest, AsyncRequestsDoTheSame) {
  UringOptions options;
  options.async = true;
  auto created = UringBackend::Create(options);
  ASSERT_TRUE(created.has_value());
  UringBackend& backend = **created;
  EXPECT_STREQ(backend.name(), "io_uring (async)");
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::array<std::byte, 4096> memory{};
  iovec entry{memory.data(), memory.size()};
  IoRequest request;
  request.fd = fd;
  request.iov = {&entry, 1};
  request.bytes = memory.size();
  backend.Enqueue(request);
  std::array<IoRequest*, 1> out;
  ASSERT_EQ(backend.Reap(out, std::chrono::hours(1)), 1u);
  EXPECT_EQ(request.result, 4096);
  EXPECT_EQ(std::memcmp(memory.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  close(fd);
}

TEST_F(UringBackendTest, ItsDescriptorsAreClosedOnExec) {
  size_t seen = 0;
  for (int fd = 3; fd < 64; ++fd) {
    std::array<char, 256> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), target.data(), target.size() - 1) < 0) continue;
    const std::string name = target.data();
    if (name.find("io_uring") == std::string::npos && name.find("eventfd") == std::string::npos) {
      continue;
    }
    ++seen;
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << name;
  }
  EXPECT_EQ(seen, 2u);
}

}  // namespace
}  // namespace kvstream::io
