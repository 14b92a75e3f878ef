// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_HOSTILE_BOUNDED_H_
#define ATTNRUN_TESTS_HOSTILE_BOUNDED_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hostile/hostile_model.h"
#include "support/sanitizer.h"

namespace attnrun::testing {

// A model that asks for more than there is. It may run or be refused, in bounded time and memory.
struct BoundedModel {
  const char* name;
  // Completes a model as that of HostileModel.
  void (*make)(onnx::ModelProto& model, onnx::GraphProto& graph);
  // Parts of the messages with which both engines refuse it; none if they may run it.
  std::vector<std::string> said = {};
};

inline void PrintTo(const BoundedModel& model, std::ostream* out) { *out << model.name; }

// The deadline of each run, to which some models run. The machine may do other work, too.
inline constexpr absl::Duration kDeadline = absl::Seconds(kSanitizer ? 10 : 3);

// Calls body() in a child process with one gigabyte of memory and five seconds of CPU time, and
// expects it to end without a signal. Returns the text that it returned.
std::string InBoundedChild(const std::function<std::string()>& body);

// Expects an end that contains all of `said`. Under a sanitizer the child has no limit of memory,
// so that something else may refuse the model: then expects only that something does.
void ExpectSays(const std::string& end, const std::vector<std::string>& said);

// Loads and runs the model on both engines in such a child, with kDeadline for each run, and
// expects what `said` says.
void ExpectBounded(const BoundedModel& model);

// As ExpectBounded, but the runs must succeed.
void ExpectRuns(const BoundedModel& model);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_HOSTILE_BOUNDED_H_
