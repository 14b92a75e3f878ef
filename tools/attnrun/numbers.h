// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_
#define ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// The elements of a tensor of any type but string, strided or dense; a bool counts as 0 or 1, a
// complex number as its real and its imaginary part.
absl::StatusOr<std::vector<double>> Numbers(const Tensor& tensor);

// Views of a dense tensor's elements in their order, shape [n] each with at most 2^20 of them: what
// is computed from a large tensor must not need several times its memory.
absl::StatusOr<std::vector<Tensor>> Pieces(const Tensor& dense);

// Every element in words: "0.1", "1+2j", "'text'".
absl::StatusOr<std::vector<std::string>> ElementTexts(const Tensor& tensor);

// A figure: integers in full, others with six digits.
std::string Figure(double value);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_
