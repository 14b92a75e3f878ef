// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_OP_CONTEXT_H_
#define ATTNRUN_OPS_INTERFACE_OP_CONTEXT_H_

#include <cstdint>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// Runs a node's subgraphs; the executor provides it to If, Loop and Scan.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  // Runs the graph held by `attribute` on one tensor per graph input, in order. `outputs` receives
  // one tensor per graph output.
  virtual absl::Status Run(absl::string_view attribute, absl::Span<const Tensor> inputs,
                           std::vector<Tensor>& outputs) = 0;
};

// The tensors of one application of an operator. Inputs are dense unless the kernel asked for
// strided ones.
class OpContext {
 public:
  // An undefined tensor among the inputs is an optional input left out.
  OpContext(absl::Span<const Tensor> inputs, absl::Span<Tensor> outputs, Allocator& allocator)
      : inputs_(inputs), outputs_(outputs), allocator_(allocator) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[i].defined(); }
  // Precondition: has_input(i), which holds for required inputs: the registry checked the arity.
  const Tensor& input(int i) const { return inputs_[i]; }
  // True if the node names the output, so that it must be computed.
  bool wants_output(int i) const {
    return i < num_outputs() && (unwanted_.empty() || !unwanted_[i]);
  }

  // Makes output i a new dense tensor and returns it for writing. If one of the `reusable` inputs
  // has the same element type and count and nothing else reads its bytes, the output takes them
  // over: the kernel must then read each element before it writes it.
  absl::StatusOr<Tensor*> AllocateOutput(int i, DataType type, absl::Span<const int64_t> shape,
                                         absl::Span<const int> reusable = {});
  void SetOutput(int i, Tensor tensor) {
    if (wants_output(i)) outputs_[i] = std::move(tensor);
  }

  // The allocator for scratch space and for FromDoubles and the like.
  Allocator& allocator() const { return allocator_; }

  // True if output 0, if it is float, should be stored as bfloat16, because all its readers round
  // it. See Kernel::can_store_bf16.
  bool stores_bf16() const { return stores_bf16_; }
  // Makes output 0, a float, a new dense tensor that holds it rounded to bfloat16. Precondition:
  // stores_bf16().
  absl::StatusOr<Tensor*> AllocateRounded(absl::Span<const int64_t> shape) {
    rounds_output_ = true;
    return AllocateOutput(0, DataType::kBfloat16, shape);
  }
  bool rounds_output() const { return rounds_output_; }
  // True if input i is bfloat16 because its producer rounded a float for this reader.
  bool is_rounded(int i) const { return i < kMostRounded && (rounded_ >> i & 1) != 0; }
  // The type of input i before that.
  DataType declared_type(int i) const { return is_rounded(i) ? DataType::kFloat : input(i).type(); }
  // `rounded` has a bit for each of the first kMostRounded inputs.
  static constexpr int kMostRounded = 64;
  void set_rounding(bool stores_bf16, uint64_t rounded) {
    stores_bf16_ = stores_bf16;
    rounded_ = rounded;
  }

  void set_subgraphs(SubgraphRunner* subgraphs) { subgraphs_ = subgraphs; }
  SubgraphRunner* subgraphs() const { return subgraphs_; }
  // `exclusive`: for each input, true if its bytes may be overwritten; empty: none.
  void set_exclusive(absl::Span<const bool> exclusive) { exclusive_ = exclusive; }
  // `unwanted`: for each output, true if the node does not name it; empty: all are wanted.
  void set_unwanted(absl::Span<const bool> unwanted) { unwanted_ = unwanted; }

 private:
  absl::Span<const Tensor> inputs_;
  absl::Span<Tensor> outputs_;
  absl::Span<const bool> exclusive_;
  absl::Span<const bool> unwanted_;
  Allocator& allocator_;
  SubgraphRunner* subgraphs_ = nullptr;
  bool stores_bf16_ = false;
  uint64_t rounded_ = 0;
  bool rounds_output_ = false;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_OP_CONTEXT_H_
