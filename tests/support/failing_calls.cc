// SPDX-License-Identifier: Apache-2.0
#include "support/failing_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "support/failing_malloc.h"

namespace attnrun::testing {
namespace {

class Failures {
 public:
  Failures(const FailingCall& tried, int64_t count) : tried_(tried), count_(count) {}

  // The first calls, and the first failure, make what a process keeps.
  void WarmUp() {
    for (int i = 0; i < 3; ++i) {
      FailAllocations(0, i == 1 ? 1 : 0);
      const absl::Status status = tried_.call();
      StopFailing();
      tried_.tidy();
      ASSERT_EQ(status.ok(), i != 1) << status;
    }
    live_ = LiveAllocations();
  }

  // False once a call has met no failure.
  bool FailAt(int64_t first) {
    const absl::Status status = Fail(first);
    if (failed_ == 0) return false;
    ++(status.ok() ? passed_ : refused_);
    EXPECT_THAT(status.code(),
                ::testing::AnyOf(absl::StatusCode::kOk, absl::StatusCode::kResourceExhausted))
        << "allocation " << first << ": " << status;
    if (LiveAllocations() != live_) HoldToLive(first, status);
    return !::testing::Test::HasFailure();
  }

  void Finish() {
    EXPECT_GT(refused_, 0);
    ::testing::Test::RecordProperty("refused", std::to_string(refused_));
    ::testing::Test::RecordProperty("passed", std::to_string(passed_));
    EXPECT_EQ(tried_.call(), absl::OkStatus());
    tried_.tidy();
  }

 private:
  absl::Status Fail(int64_t first) {
    FailAllocations(first, count_);
    absl::Status status = tried_.call();
    failed_ = StopFailing();
    tried_.tidy();
    return status;
  }

  // A process may keep more or less for the next call than before, such as a new region for small
  // weights. A leak grows each time.
  void HoldToLive(int64_t first, const absl::Status& status) {
    constexpr int kTimes = 6;
    for (int i = 0; i < kTimes; ++i) {
      const int64_t before = LiveAllocations();
      Fail(first).IgnoreError();
      ASSERT_EQ(tried_.call(), absl::OkStatus());
      tried_.tidy();
      live_ = LiveAllocations();
      if (live_ <= before) return;
    }
    FAIL() << "allocation " << first << ": more is alive after each failure; " << status;
  }

  const FailingCall& tried_;
  const int64_t count_;
  int64_t live_ = 0;
  int64_t failed_ = 0;
  int64_t refused_ = 0;
  int64_t passed_ = 0;
};

int64_t StrideOf(const FailingCall& tried) {
  const char* stride = std::getenv("ATTNRUN_TEST_STRIDE");
  int64_t given = 0;
  const bool is_given = stride != nullptr && absl::SimpleAtoi(stride, &given);
  return tried.stride == 1 && is_given ? given : tried.stride;
}

}  // namespace

void FailEach(const FailingCall& tried, int64_t count) {
  Failures failures(tried, count);
  failures.WarmUp();
  if (::testing::Test::HasFatalFailure()) return;
  int64_t first = 0;
  while (failures.FailAt(first)) first += StrideOf(tried);
  if (!::testing::Test::HasFailure()) failures.Finish();
}

}  // namespace attnrun::testing
