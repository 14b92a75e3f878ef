// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_
#define ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_

#include <cstddef>
#include <string>
#include <vector>

namespace attnrun::cli {

// The repeated part of a sequence.
struct Repetition {
  // Position of the first repeat, length of a repeat, and number of repeats; 0 repeats if none.
  size_t begin = 0;
  size_t period = 0;
  size_t repeats = 0;
};

// Finds the repetition that covers most of `kinds`, with the shortest period among equals. Applied
// to the operators of a model's nodes, it finds the layers. A repeat has at least two elements and
// not all are equal, since a run of equal nodes is not a layer. Takes n * n / 2 comparisons.
Repetition LongestRepetition(const std::vector<std::string>& kinds);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_REPETITION_H_
