// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace attnrun {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value, int& reached) {
  ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<int> half, Half(value));
  reached = 1;
  ATTNRUN_ASSIGN_OR_RETURN(half, Half(*half));
  reached = 2;
  return *half;
}

TEST(StatusTest, AssignOrReturnMovesTheValueOrLeaves) {
  int reached = 0;
  EXPECT_EQ(Quarter(12, reached).value(), 3);
  EXPECT_EQ(Quarter(7, reached = 0).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(reached, 0);
  EXPECT_FALSE(Quarter(6, reached).ok());
  EXPECT_EQ(reached, 1);
}

absl::Status Chain(bool fail, int& calls) {
  const auto step = [&] {
    ++calls;
    return fail ? absl::CancelledError("stop") : absl::OkStatus();
  };
  ATTNRUN_RETURN_IF_ERROR(step());
  ATTNRUN_RETURN_IF_ERROR(step());
  return absl::OkStatus();
}

TEST(StatusTest, ReturnIfErrorEvaluatesOnceAndLeaves) {
  int calls = 0;
  EXPECT_EQ(Chain(false, calls), absl::OkStatus());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Chain(true, calls = 0), absl::CancelledError("stop"));
  EXPECT_EQ(calls, 1);
}

absl::Status InBranches(bool first) {
  if (first)
    ATTNRUN_RETURN_IF_ERROR(absl::NotFoundError("first"));
  else
    ATTNRUN_RETURN_IF_ERROR(absl::NotFoundError("second"));
  return absl::OkStatus();
}

TEST(StatusTest, ReturnIfErrorIsOneStatement) {
  EXPECT_EQ(InBranches(true).message(), "first");
  EXPECT_EQ(InBranches(false).message(), "second");
}

TEST(StatusTest, AnnotateKeepsTheCode) {
  EXPECT_EQ(Annotate(absl::OkStatus(), "file"), absl::OkStatus());
  EXPECT_EQ(Annotate(absl::NotFoundError("gone"), "file"), absl::NotFoundError("file: gone"));
}

TEST(StatusTest, AnnotateDropsTheMiddleOfLongMessages) {
  const std::string list(100'000, '7');
  absl::Status status = Annotate(absl::NotFoundError("begin " + list + " end"), "file");
  EXPECT_EQ(status.message().substr(0, 13), "file: begin 7");
  EXPECT_EQ(status.message().substr(status.message().size() - 5), "7 end");
  EXPECT_LT(status.message().size(), 4200U);
  // After any number of annotations, the outermost context and the original error are still there.
  status = absl::NotFoundError("gone");
  for (int i = 0; i < 1000; ++i) status = Annotate(status, absl::StrCat("graph ", i));
  EXPECT_EQ(status.message().substr(0, 10), "graph 999:");
  EXPECT_EQ(status.message().substr(status.message().size() - 14), " graph 0: gone");
  EXPECT_LT(status.message().size(), 4200U);
}

}  // namespace
}  // namespace attnrun
