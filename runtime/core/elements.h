// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_ELEMENTS_H_
#define ATTNRUN_CORE_ELEMENTS_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

// Any tensor as a vector of one C++ type, and back: what the reference operators compute on, so
// that they are written once for all element types. Tensors must be dense.
namespace attnrun {

// Every number type and bool. kInvalidArgument for strings and complex.
absl::StatusOr<std::vector<double>> ToDoubles(const Tensor& tensor);

// The integer types and bool, exactly (uint64 as its two's complement). kInvalidArgument otherwise.
absl::StatusOr<std::vector<int64_t>> ToInts(const Tensor& tensor);

// complex64 and complex128, and real numbers with imaginary part 0.
absl::StatusOr<std::vector<std::complex<double>>> ToComplex(const Tensor& tensor);

absl::StatusOr<std::vector<std::string>> ToStrings(const Tensor& tensor);

// A tensor of `type`. Floats round to nearest even; integers and bool take the value truncated
// towards zero modulo 2^bits, as a C cast does where that is defined (NaN gives 0); bool is value
// != 0. kInvalidArgument for strings and complex, or if the count is not that of the shape.
absl::StatusOr<Tensor> FromDoubles(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const double> values,
                                   Allocator& allocator = Allocator::Heap());

// A tensor of `type`; integers take the value modulo 2^bits.
absl::StatusOr<Tensor> FromInts(DataType type, absl::Span<const int64_t> shape,
                                absl::Span<const int64_t> values,
                                Allocator& allocator = Allocator::Heap());

absl::StatusOr<Tensor> FromComplex(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const std::complex<double>> values,
                                   Allocator& allocator = Allocator::Heap());

}  // namespace attnrun

#endif  // ATTNRUN_CORE_ELEMENTS_H_
