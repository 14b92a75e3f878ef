// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_
#define ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "graph/symbolic.h"

namespace attnrun::ops {

// What is known of a value in every run.
struct ValueFacts {
  // kUndefined: not known.
  DataType type = DataType::kUndefined;
  // Absent: not even the rank.
  std::optional<std::vector<SymInt>> dims;
  // The elements of a tensor of integers or bool (0, 1) of rank 0 or 1: what shapes are made of.
  // Absent where unknown; single elements may be SymInt::Unknown().
  std::optional<std::vector<SymInt>> contents;
};

// Longest contents that are followed: shapes, axes and permutations are short.
inline constexpr size_t kMaxContents = 64;

// What an operator knows of its inputs and tells of its outputs, for all runs.
class InferContext {
 public:
  // A null fact or constant is an optional input left out or not constant. `extents`: some that the
  // run has elsewhere.
  InferContext(absl::Span<const ValueFacts* const> inputs,
               absl::Span<const Tensor* const> constants, absl::Span<ValueFacts> outputs,
               absl::Span<const SymInt> extents = {})
      : inputs_(inputs), constants_(constants), outputs_(outputs), extents_(extents) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[i] != nullptr; }
  // Precondition: has_input(i).
  const ValueFacts& input(int i) const { return *inputs_[i]; }
  // The input's tensor if it is the same in every run, else null.
  const Tensor* constant(int i) const { return i < num_inputs() ? constants_[i] : nullptr; }

  // Whether the number is at least 0, by itself or because an extent is that is no larger. False
  // also where that is not plain to see.
  bool IsNeverNegative(const SymInt& number) const;

  // Ignored past the end, so that optional outputs need no care.
  void SetOutput(int i, ValueFacts facts) {
    if (i < num_outputs()) outputs_[i] = std::move(facts);
  }

 private:
  absl::Span<const ValueFacts* const> inputs_;
  absl::Span<const Tensor* const> constants_;
  absl::Span<ValueFacts> outputs_;
  absl::Span<const SymInt> extents_;
};

// The extents after ONNX's multidirectional broadcasting; nullopt if an operand's rank is unknown.
// Two extents that may differ give an unknown one, as which of them is 1 cannot be told.
std::optional<std::vector<SymInt>> BroadcastDims(const std::optional<std::vector<SymInt>>& a,
                                                 const std::optional<std::vector<SymInt>>& b);

// The facts of a tensor that is the same in every run.
ValueFacts FactsOf(const Tensor& tensor);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_
