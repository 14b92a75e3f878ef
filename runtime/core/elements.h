// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_ELEMENTS_H_
#define ATTNRUN_CORE_ELEMENTS_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

// Conversions between tensors and vectors of one C++ type. The reference operators compute on these
// vectors, so that one implementation serves all element types. Tensors must be dense.
namespace attnrun {

// Takes all number types and bool. kInvalidArgument for strings and complex numbers.
absl::StatusOr<std::vector<double>> ToDoubles(const Tensor& tensor);

// Takes the integer types and bool, without rounding; uint64 keeps its bits (two's complement).
// kInvalidArgument for other types.
absl::StatusOr<std::vector<int64_t>> ToInts(const Tensor& tensor);

// Takes complex64, complex128, and real numbers, which get an imaginary part of 0.
absl::StatusOr<std::vector<std::complex<double>>> ToComplex(const Tensor& tensor);

absl::StatusOr<std::vector<std::string>> ToStrings(const Tensor& tensor);

// A tensor of `type`. Floats round to nearest even. Integers take the value truncated towards zero,
// modulo 2^bits, which agrees with a C cast where that is defined; NaN gives 0. bool is value != 0.
// kInvalidArgument for strings and complex numbers, or if the count does not match the shape.
absl::StatusOr<Tensor> FromDoubles(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const double> values,
                                   Allocator& allocator = Allocator::Heap());

// As FromDoubles; integers take the value modulo 2^bits.
absl::StatusOr<Tensor> FromInts(DataType type, absl::Span<const int64_t> shape,
                                absl::Span<const int64_t> values,
                                Allocator& allocator = Allocator::Heap());

absl::StatusOr<Tensor> FromComplex(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const std::complex<double>> values,
                                   Allocator& allocator = Allocator::Heap());

}  // namespace attnrun

#endif  // ATTNRUN_CORE_ELEMENTS_H_
