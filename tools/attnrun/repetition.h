// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_
#define ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_

#include <cstddef>
#include <string>
#include <vector>

namespace attnrun::cli {

// A sequence in pieces, where something in it repeats.
struct Repetition {
  // Where the repeats begin, how long one is, and how many there are; 0 repeats if nothing does.
  size_t begin = 0;
  size_t period = 0;
  size_t repeats = 0;
};

// The repetition that covers most of `kinds`, and of such the one with the shortest period: a
// model's layers, from the operators of its nodes. A repeat is at least two long, since a run of
// equal nodes is no layer. Takes n * n / 2 comparisons.
Repetition LongestRepetition(const std::vector<std::string>& kinds);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_
