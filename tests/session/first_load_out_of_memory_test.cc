// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/failing_models.h"
#include "session/in_child.h"
#include "support/failing_malloc.h"

// Allocations of a process's first load fail: alone, and with all that follow. It makes what all
// later loads use, such as the list of operators. Each attempt is a child of a process that never
// loads.
namespace attnrun::testing {
namespace {

class FirstLoadOutOfMemoryTest : public ::testing::TestWithParam<int64_t> {};

enum class Outcome { kWrong, kFailed, kNoFailure };

absl::StatusOr<TensorMap> LoadAndRun(const std::string& bytes) {
  SessionOptions options;
  options.threads = 1;
  const absl::StatusOr<Session> session = Session::LoadBytes(bytes, options);
  if (!session.ok()) return session.status();
  return session->Run(FailingInputs());
}

// The first load, with a failure from allocation `first` on, and the next ones.
Outcome FailAt(const std::string& bytes, int64_t first, int64_t count) {
  FailAllocations(first, count);
  const absl::Status status = LoadAndRun(bytes).status();
  if (StopFailing() == 0) return status.ok() ? Outcome::kNoFailure : Outcome::kWrong;
  if (!status.ok() && !absl::IsResourceExhausted(status)) return Outcome::kWrong;
  const absl::StatusOr<TensorMap> second = LoadAndRun(bytes);
  const absl::StatusOr<TensorMap> third = LoadAndRun(bytes);
  const bool right = second.ok() && third.ok() && SameBits(*second, *third);
  return right ? Outcome::kFailed : Outcome::kWrong;
}

TEST_P(FirstLoadOutOfMemoryTest, LeavesTheProcessAsItWas) {
  if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  const std::string bytes = LayerModel().SerializeAsString();
  // A prime.
  constexpr int64_t kStride = 47;
  constexpr int64_t kMost = 1'000'000;
  for (int64_t first = 0; first < kMost; first += kStride) {
    const int result =
        StatusOfChild([&] { return static_cast<int>(FailAt(bytes, first, GetParam())); });
    if (result == static_cast<int>(Outcome::kNoFailure)) {
      EXPECT_GT(first, 0);
      return;
    }
    ASSERT_EQ(result, static_cast<int>(Outcome::kFailed)) << "allocation " << first;
  }
  FAIL() << "a load of more than " << kMost << " allocations";
}

INSTANTIATE_TEST_SUITE_P(One, FirstLoadOutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, FirstLoadOutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing
