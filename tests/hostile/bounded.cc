// SPDX-License-Identifier: Apache-2.0
#include "hostile/bounded.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/sanitizer.h"

namespace attnrun::testing {
namespace {

constexpr rlim_t kMemory = rlim_t{1} << 30;
constexpr rlim_t kSeconds = rlim_t{5} * kSlowdown;

// The address space in use, in bytes.
rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void Limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  const rlimit limit = {.rlim_cur = most, .rlim_max = most};
  setrlimit(resource, &limit);
}

void LimitProcess() {
  Limit(RLIMIT_CPU, kSeconds);
  if (!kSanitizer) Limit(RLIMIT_AS, AddressSpace() + kMemory);
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

// The status of a load and a run, in words, with an optimized session and with the reference.
std::vector<std::string> Ends(const BoundedModel& bounded) {
  const TemporaryFolder folder;
  const std::string path = WriteModel(folder, bounded.make);
  std::vector<std::string> ends;
  for (const Engine engine : {Engine::kOptimized, Engine::kReference}) {
    ends.push_back(InBoundedChild(
        [&] { return LoadAndRun(path, engine, kDeadline).ToString().substr(0, 4000); }));
  }
  return ends;
}

}  // namespace

std::string InBoundedChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    LimitProcess();
    const std::string text = body();
    const bool written = write(ends[1], text.data(), text.size()) == std::ssize(text);
    _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  close(ends[1]);
  std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
  return text;
}

void ExpectSays(const std::string& end, const std::vector<std::string>& said) {
  if (kSanitizer && !said.empty()) {
    EXPECT_NE(end, "OK");
  } else {
    for (const std::string& part : said) EXPECT_THAT(end, ::testing::HasSubstr(part));
  }
}

void ExpectBounded(const BoundedModel& bounded) {
  for (const std::string& end : Ends(bounded)) {
    ExpectSays(end, bounded.said);
    EXPECT_THAT(end, ::testing::Not(::testing::HasSubstr("INTERNAL")));
  }
}

void ExpectRuns(const BoundedModel& bounded) {
  for (const std::string& end : Ends(bounded)) EXPECT_EQ(end, "OK");
}

}  // namespace attnrun::testing
