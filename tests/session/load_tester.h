// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_LOAD_TESTER_H_
#define ATTNRUN_TESTS_SESSION_LOAD_TESTER_H_

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/failing_models.h"
#include "support/failing_calls.h"

namespace attnrun::testing {

// Lets the allocations of load() fail in turn, as FailEach. A session that is made all the same is
// right, and so is the next one after a failure. `clean` is called after each load, without
// failures.
inline void FailLoads(
    const std::function<absl::StatusOr<Session>()>& load, const TensorMap& inputs, int64_t count,
    int64_t stride = 1, const std::function<void()>& clean = [] {}) {
  const TensorMap expected = load()->Run(inputs).value();
  clean();
  std::optional<Session> session;
  const auto call = [&]() -> absl::Status {
    absl::StatusOr<Session> made = load();
    if (!made.ok()) return made.status();
    session.emplace(*std::move(made));
    return absl::OkStatus();
  };
  // A load takes longer than a failure at a random place of it.
  constexpr int kAgain = 16;
  int calls = 0;
  const auto tidy = [&] {
    if (!session.has_value() && ++calls % kAgain == 0) {
      ASSERT_EQ(call(), absl::OkStatus());
    }
    if (session.has_value()) {
      EXPECT_TRUE(SameBits(session->Run(inputs).value(), expected));
    }
    session.reset();
    clean();
  };
  FailEach({.call = call, .tidy = tidy, .stride = stride}, count);
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_LOAD_TESTER_H_
