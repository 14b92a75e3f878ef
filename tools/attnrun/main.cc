// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/options.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// Makes each line printable, since messages may quote text from the model.
std::string Message(absl::string_view text) {
  const auto append = [](std::string* out, absl::string_view line) { *out += Printable(line); };
  return absl::StrJoin(absl::StrSplit(text, '\n'), "\n", append);
}

absl::StatusOr<int> Dispatch(const Options& options) {
  if (options.command == "inspect") return Inspect(options);
  if (options.command == "fusions") return ReportFusions(options);
  if (options.command == "compare") return CompareEngines(options);
  if (options.command == "bench") return Bench(options);
  if (options.command == "profile") return Profile(options);
  if (options.command == "generate") return GenerateTokens(options);
  if (options.command == "ops") return ListOperators(options);
  if (options.command == "passes") return ListPasses(options);
  return Run(options);
}

void Print(absl::string_view text) { std::cerr << "attnrun: " << Message(text) << "\n"; }

int Main(int argc, const char* const* argv) {
  Options options;
  options.session.log = [](LogLevel level, absl::string_view message) {
    if (level == LogLevel::kWarning) Print(absl::StrCat("warning: ", message));
  };
  if (const std::optional<int> status = ParseOptions(argc, argv, options)) return *status;
  absl::StatusOr<int> status = Dispatch(options);
  if (status.ok() && !std::cout.flush()) {
    status = absl::DataLossError("standard output cannot be written");
  }
  if (WasInterrupted()) {
    if (status.ok()) Print("interrupted: these are the runs until then");
    // The shell sees a program that SIGINT has ended.
    std::raise(SIGINT);
  }
  if (status.ok()) return *status;
  Print(status.status().message());
  return kInvalid;
}

}  // namespace
}  // namespace attnrun::cli

int main(int argc, char** argv) {
  // A file that grows beyond the limit of the shell's ulimit is then an error of the write, and the
  // unfinished file is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return attnrun::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::cerr << "attnrun: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "attnrun: " << error.what() << "\n";
  }
  return attnrun::cli::kInvalid;
}
