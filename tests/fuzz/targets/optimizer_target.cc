// SPDX-License-Identifier: Apache-2.0
// The optimizer on random graphs, whose choices are the fuzzer's bytes. The first four seed what
// the bytes do not say, such as the numbers in weights.
#include "core/parallel.h"
#include "fuzz/blocks.h"
#include "fuzz/shrink.h"
#include "fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attnrun::testing::Choices;
  attnrun::SetNumThreads(1);
  Choices choices({data, size});
  const auto seed = static_cast<uint32_t>(choices.Int(0, 0xffffffff));
  const attnrun::testing::Trial trial = attnrun::testing::RandomTrial(seed, choices.Rest());
  const auto failure = attnrun::testing::Check(trial);
  if (failure.has_value()) {
    const attnrun::testing::Trial small = attnrun::testing::Shrunk(trial, *failure);
    attnrun::testing::Fail(
        attnrun::testing::Reproducer(small, attnrun::testing::Check(small).value_or(*failure)));
  }
  return 0;
}
