// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_INFER_RULES_H_
#define ATTNRUN_OPS_INTERFACE_INFER_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/interface/infer_context.h"

// Helpers for Op::Infer. They assume runs that succeed: two extents that an operator requires to be
// equal are equal, and a number that it requires to be an extent is not negative.
namespace attnrun::ops {

using Dims = std::vector<SymInt>;

// The elements of input i, a tensor of rank 0 or 1, if all of them are known numbers.
std::optional<std::vector<int64_t>> KnownInts(const KnownInputs& inputs, int i);

// The only element of input i, which may depend on the run's extents.
std::optional<SymInt> OnlyElement(const KnownInputs& inputs, int i);

// The number of elements of input i, a tensor of rank 0 or 1; nullopt also if it is too long to be
// a shape.
std::optional<size_t> KnownLength(const KnownInputs& inputs, int i);

// Maps an axis of [-rank, rank) to [0, rank); nullopt for any other.
std::optional<size_t> KnownAxis(int64_t axis, size_t rank);

// `rank` different unknown extents.
Dims UnknownDims(size_t rank);

// An extent that equals both `a` and `b`: the simpler of the two.
SymInt Same(const SymInt& a, const SymInt& b);

// A vector of these elements.
ValueFacts VectorOf(DataType type, std::vector<SymInt> contents);

// Sets output i to the type of input 0 and `dims`.
void SetDims(InferContext& context, int i, std::optional<Dims> dims);

// Sets output 0 to the type and shape of input 0.
void InferLikeInput(InferContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_INFER_RULES_H_
