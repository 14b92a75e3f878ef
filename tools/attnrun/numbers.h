// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_
#define ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// The elements of a tensor of any type except string, strided or dense. A bool counts as 0 or 1, a
// complex number as two numbers, its real and imaginary part.
absl::StatusOr<std::vector<double>> Numbers(const Tensor& tensor);

// Views of the elements of a dense tensor, in order, each of shape [n] with n at most 2^20. Working
// piece by piece avoids needing several times the memory of a large tensor.
absl::StatusOr<std::vector<Tensor>> Pieces(const Tensor& dense);

// Every element as text: "0.1", "1+2j", "'text'".
absl::StatusOr<std::vector<std::string>> ElementTexts(const Tensor& tensor);

// A number as text: integers in full, others with six digits.
std::string Figure(double value);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NUMBERS_H_
