#include "cli/fio_runner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <spawn.h>

#include "kvstream/options.h"

namespace kvstream::cli {
namespace {

Error SystemError(std::string_view what, int error) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(error)), error};
}

Result<std::string> ReadToEnd(int fd) {
  std::string output;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t bytes = read(fd, part.data(), part.size());
    if (bytes == 0) return output;
    if (bytes > 0) output.append(part.data(), static_cast<size_t>(bytes));
    if (bytes < 0 && errno != EINTR) return SystemError("read from a pipe", errno);
  }
}

// Everything the program writes to stdout and stderr; `status` is waitpid's.
Result<std::string> RunProgram(std::vector<std::string> arguments, int* status) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("pipe2", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return SystemError("start " + arguments[0], error);
  }
  Result<std::string> output = ReadToEnd(ends[0]);
  close(ends[0]);
  while (waitpid(pid, status, 0) < 0) {
    if (errno != EINTR) return SystemError("waitpid", errno);
  }
  return output;
}

// fio takes no longer value for an option.
constexpr size_t kFileListCharsMax = 4000;

// As many of the files as fio takes; it reads them again when the job is longer.
std::string FileList(std::span<const std::filesystem::path> files) {
  std::string list;
  for (const auto& file : files) {
    std::string escaped;
    for (char c : file.string()) {
      if (c == ':' || c == '\\') escaped += '\\';  // fio's separator and its escape
      escaped += c;
    }
    if (!list.empty() && list.size() + 1 + escaped.size() > kFileListCharsMax) break;
    if (!list.empty()) list += ':';
    list += escaped;
  }
  return list;
}

}  // namespace

bool HasFio() {
  int status = 0;
  return RunProgram({"fio", "--version"}, &status).has_value() && status == 0;
}

std::vector<std::string> FioArguments(std::span<const std::filesystem::path> files,
                                      const FioShape& shape, uint64_t bytes,
                                      std::chrono::milliseconds duration) {
  std::vector<std::string> arguments = {"fio",
                                        "--name=read",
                                        "--rw=read",
                                        "--direct=1",
                                        "--readonly",
                                        "--thread",
                                        "--output-format=json",
                                        "--file_service_type=sequential",
                                        "--group_reporting",
                                        "--filename=" + FileList(files),
                                        fmt::format("--bs={}", shape.block_bytes),
                                        "--ioengine=" + shape.engine};
  const bool one_each = shape.engine == "psync";
  arguments.push_back(fmt::format("--{}={}", one_each ? "numjobs" : "iodepth", shape.depth));
  if (bytes > 0) {
    const uint64_t jobs = one_each ? shape.depth : 1;
    arguments.push_back(fmt::format("--io_size={}", bytes / jobs));
  } else {
    arguments.push_back("--time_based");
    arguments.push_back(fmt::format("--runtime={}ms", duration.count()));
  }
  return arguments;
}

Result<FioResult> ParseFioOutput(std::string_view output) {
  const size_t begin = output.find('{');  // warnings may come first
  const auto json = nlohmann::json::parse(
      output.substr(begin == std::string_view::npos ? output.size() : begin), nullptr, false);
  const auto pointer = nlohmann::json::json_pointer("/jobs/0/read");
  if (json.is_discarded() || !json.contains(pointer)) {
    return Error(ErrorCode::kUnsupported, "fio: cannot understand its output");
  }
  const nlohmann::json& read = json[pointer];
  const double bandwidth = read.value("bw_bytes", 0.0);
  const uint64_t bytes = read.value("io_bytes", uint64_t{0});
  if (!(bandwidth > 0) || bytes == 0) return Error(ErrorCode::kIo, "fio: read nothing");
  return FioResult{bandwidth, bytes};
}

Result<FioResult> RunFio(std::span<const std::filesystem::path> files, const FioShape& shape,
                         uint64_t bytes, std::chrono::milliseconds duration) {
  int status = 0;
  KVS_TRY_ASSIGN(const std::string output,
                 RunProgram(FioArguments(files, shape, bytes, duration), &status));
  if (status != 0) {
    return Error(ErrorCode::kIo, "fio failed: " + output.substr(0, output.find('\n')));
  }
  return ParseFioOutput(output);
}

Result<FioBest> FindBestFio(std::span<const std::filesystem::path> files,
                            std::chrono::milliseconds duration) {
  const FioShape shapes[] = {{kMiB, 8, "io_uring"},     {kMiB, 16, "io_uring"},
                             {kMiB, 32, "io_uring"},    {4 * kMiB, 4, "io_uring"},
                             {4 * kMiB, 8, "io_uring"}, {4 * kMiB, 16, "io_uring"},
                             {kMiB, 16, "psync"},       {4 * kMiB, 8, "psync"}};
  std::optional<FioBest> best;
  std::optional<Error> first_error;
  for (const FioShape& shape : shapes) {
    auto result = RunFio(files, shape, 0, duration);
    if (!result) {
      if (!first_error) first_error.emplace(std::move(result).error());
    } else if (!best || result->bytes_per_second > best->result.bytes_per_second) {
      best = FioBest{shape, *result};
    }
  }
  // io_uring may be refused where psync works; an error counts only if nothing works.
  if (!best) return std::move(*first_error);
  return std::move(*best);
}

}  // namespace kvstream::cli
