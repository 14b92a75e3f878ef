// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SHAPE_SQUEEZE_H_
#define ATTNRUN_OPS_SHAPE_SQUEEZE_H_

#include <memory>
#include <optional>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The axes of Squeeze and Unsqueeze: an attribute before version 13, input 1 from version 13 on.
class AxesArgument {
 public:
  AxesArgument(AttributeReader& attributes, bool required);

  bool IsGiven(const OpContext& context) const {
    return from_input_ ? context.has_input(1) : has_attribute_;
  }
  // Precondition: IsGiven(context).
  absl::StatusOr<Shape> Read(const OpContext& context) const;

  bool IsGiven(const KnownInputs& inputs) const {
    return from_input_ ? inputs.has_input(1) : has_attribute_;
  }
  // The axes as given; nullopt if they differ between runs.
  std::optional<std::vector<int64_t>> Known(const KnownInputs& inputs) const;

 private:
  bool from_input_;
  bool has_attribute_ = false;
  Shape attribute_;
};

// ONNX Squeeze-1 to -25: drops the given axes, whose extents must be 1; if none are given, all axes
// of extent 1. Negative axes count from the end. The result shares the data's bytes.
class Squeeze final : public Op {
 public:
  explicit Squeeze(AttributeReader& attributes) : axes_(attributes, /*required=*/false) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  // True for axes of input 0 that are dropped; nullopt if that differs between runs, or no run
  // succeeds.
  std::optional<std::vector<bool>> Dropped(const KnownInputs& inputs) const;

  AxesArgument axes_;
};

// ONNX Unsqueeze-1 to -25: inserts axes of extent 1 at the given axes of the result. The result
// shares the data's bytes.
class Unsqueeze final : public Op {
 public:
  explicit Unsqueeze(AttributeReader& attributes) : axes_(attributes, /*required=*/true) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  // True for axes of the output that are new; nullopt likewise.
  std::optional<std::vector<bool>> Added(const KnownInputs& inputs) const;

  AxesArgument axes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SHAPE_SQUEEZE_H_
