// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/parallel.h"
#include "fuzz/blocks.h"
#include "fuzz/runs.h"
#include "fuzz/shrink.h"

// Random graphs of transformer pieces: after optimization they compute the results of the reference
// on the original graph. ATTNRUN_RANDOM_GRAPHS=N tries N fresh graphs; ATTNRUN_TEST_SEED sets the
// first seed.
namespace attnrun::testing {
namespace {

TEST(RandomGraphsTest, OptimizedGraphsComputeTheSame) {
  SetNumThreads(1);
  const Runs runs = ChooseRuns("ATTNRUN_RANDOM_GRAPHS", 1000);
  for (uint32_t seed = runs.first; seed != runs.first + runs.count; ++seed) {
    const Trial trial = RandomTrial(seed);
    const std::optional<Failure> failure = Check(trial);
    if (!failure.has_value()) continue;
    const Trial small = Shrunk(trial, *failure);
    ADD_FAILURE() << "ATTNRUN_TEST_SEED=" << seed << " ATTNRUN_RANDOM_GRAPHS=1\n"
                  << Reproducer(small, Check(small).value_or(*failure));
  }
}

// The seeds stand for a NaN query behind a guard that zeroes its row; a division by a Gelu that is
// almost 0; a Gelu of such elements only; a value that is 0 in float but not in double; and
// Reshapes of tensors without elements.
TEST(RandomGraphsTest, SeedsThatOnceFailed) {
  SetNumThreads(1);
  for (const uint32_t seed :
       {105766U, 320093788U, 3361663785U, 3361675552U, 3367007451U, 3367011862U, 4043218630U,
        4043223022U, 4179405482U, 1141209208U, 4207079954U}) {
    SCOPED_TRACE(seed);
    const std::optional<Failure> failure = Check(RandomTrial(seed));
    EXPECT_FALSE(failure.has_value()) << failure.value_or(Failure()).detail;
  }
}

}  // namespace
}  // namespace attnrun::testing
