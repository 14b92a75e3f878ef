// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_
#define ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "graph/symbolic.h"

namespace attnrun::ops {

// The facts about a value that hold in every run. A sequence and an optional have the type of their
// tensors, if it is one, and no other facts.
struct ValueFacts {
  // kUndefined: unknown.
  DataType type = DataType::kUndefined;
  // Absent: the rank is unknown.
  std::optional<std::vector<SymInt>> dims;
  // The elements of a tensor of integers or bool (0, 1) of rank 0 or 1, which shapes are made of.
  // Absent if unknown; single elements may be SymInt::Unknown().
  std::optional<std::vector<SymInt>> contents;

  // nullopt if they are unknown or not one.
  std::optional<SymInt> OnlyElement() const {
    if (!contents.has_value() || contents->size() != 1) return std::nullopt;
    return contents->front();
  }
};

// The longest contents that are tracked: shapes, axes and permutations are short.
inline constexpr size_t kMaxContents = 64;

// The facts about an operator's inputs, for all runs.
class KnownInputs {
 public:
  // A null fact is an optional input left out, a null constant an input that is not constant.
  // `extents`: extents that other values have in the run.
  KnownInputs(absl::Span<const ValueFacts* const> inputs, absl::Span<const Tensor* const> constants,
              absl::Span<const SymInt> extents = {})
      : inputs_(inputs), constants_(constants), extents_(extents) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[i] != nullptr; }
  // Precondition: has_input(i).
  const ValueFacts& input(int i) const { return *inputs_[i]; }
  // The input's tensor if it is the same in every run, else null.
  const Tensor* constant(int i) const { return i < num_inputs() ? constants_[i] : nullptr; }

  // True if the number is provably at least 0, by itself or because it is at least one of the
  // extents.
  bool IsNeverNegative(const SymInt& number) const;

 private:
  absl::Span<const ValueFacts* const> inputs_;
  absl::Span<const Tensor* const> constants_;
  absl::Span<const SymInt> extents_;
};

// The facts about an operator's inputs, and those it derives about its outputs, for all runs.
class InferContext : public KnownInputs {
 public:
  InferContext(absl::Span<const ValueFacts* const> inputs,
               absl::Span<const Tensor* const> constants, absl::Span<ValueFacts> outputs,
               absl::Span<const SymInt> extents = {})
      : KnownInputs(inputs, constants, extents), outputs_(outputs) {}

  int num_outputs() const { return static_cast<int>(outputs_.size()); }

  // Ignored past the last output, so that optional outputs need no care.
  void SetOutput(int i, ValueFacts facts) {
    if (i < num_outputs()) outputs_[i] = std::move(facts);
  }

  // Says that the number is at least 0 in every run in which the operator succeeds. A convolution,
  // for example, refuses an input that is shorter than its kernel.
  void Require(SymInt number) {
    const bool tells = !number.constant().has_value() && !number.IsNeverNegative();
    if (tells) required_.push_back(std::move(number));
  }
  // Says that, in every such run, the elements of input i are indices along an axis of `extent`:
  // from -extent to extent - 1.
  void RequireIndices(int i, SymInt extent) { indices_.push_back({i, std::move(extent)}); }

  // Says that the two are equal in every such run. (They may differ where an extent is 0 that both
  // have as a factor.)
  void RequireEqual(const SymInt& a, const SymInt& b) {
    if (a != b) equal_.emplace_back(a, b);
  }
  // The same for extents that are broadcast. One of them may be 1, so only those that are known not
  // to be are equal; the others are kept in broadcast().
  void RequireBroadcast(const std::vector<SymInt>& a, const std::vector<SymInt>& b);

  struct Indices {
    int input;
    SymInt extent;
  };
  const std::vector<SymInt>& required() const { return required_; }
  const std::vector<Indices>& indices() const { return indices_; }
  const std::vector<std::pair<SymInt, SymInt>>& equal() const { return equal_; }
  // Extents that are equal in every such run, or one of which is 1.
  const std::vector<std::pair<SymInt, SymInt>>& broadcast() const { return broadcast_; }

 private:
  absl::Span<ValueFacts> outputs_;
  std::vector<SymInt> required_;
  std::vector<Indices> indices_;
  std::vector<std::pair<SymInt, SymInt>> equal_;
  std::vector<std::pair<SymInt, SymInt>> broadcast_;
};

// The extents after ONNX's multidirectional broadcasting; nullopt if an operand's rank is unknown.
// Two extents that may differ give an opaque one, since it is unknown which of them is 1.
std::optional<std::vector<SymInt>> BroadcastDims(const std::optional<std::vector<SymInt>>& a,
                                                 const std::optional<std::vector<SymInt>>& b);

// Requires what two operands that broadcast show about each other: an extent min(n, s) that was cut
// to s and broadcasts against s is s, so n - s is not negative. An example is a table of n = 40
// positions that was cut to s of them.
void RequireUncut(InferContext& context, const ValueFacts& a, const ValueFacts& b);

// The facts of a tensor that is the same in every run.
ValueFacts FactsOf(const Tensor& tensor);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_INFER_CONTEXT_H_
