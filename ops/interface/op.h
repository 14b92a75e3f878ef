// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_OP_H_
#define ATTNRUN_OPS_INTERFACE_OP_H_

#include <memory>
#include "absl/strings/string_view.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/precision.h"
#include "ops/interface/axes_context.h"
#include "ops/interface/infer_context.h"
#include "ops/interface/kernel_context.h"
#include "ops/interface/op_context.h"

namespace attnrun::ops {

// The optimized implementation of one node. Immutable once made: Run is called from many threads.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // The name in the profile, such as "gemm packed", "highway" or "onednn".
  virtual absl::string_view name() const = 0;

  // The arithmetic of its products, which may be finer than the session's, but never coarser.
  virtual Precision precision() const { return Precision::kFloat32; }

  // True if Run stores output 0 as bf16 where OpContext::stores_bf16() asks for it.
  virtual bool can_store_bf16() const { return false; }
  // True if Run rounds input i to bf16 before it uses it, and takes it rounded as well: the outputs
  // have the same bits. OpContext::is_rounded(i) then tells such a tensor from a bfloat16 input.
  virtual bool rounds_input(int /*i*/) const { return false; }

  // True if Run handles these element types and shapes; if not, the reference code runs instead and
  // the profile says so.
  virtual bool Accepts(const OpContext& context) const = 0;

  // True if Run takes strided inputs; otherwise the executor makes them dense first.
  virtual bool accepts_strided() const { return false; }

  // Computes the outputs. Errors as in Op::Reference.
  virtual absl::Status Run(OpContext& context) const = 0;

  // Floating-point operations of one call, for the profile; 0 if they say little about its cost.
  virtual int64_t Flops(const OpContext& /*context*/) const { return 0; }
};

// The operator of one node with its attributes read. Immutable.
class Op {
 public:
  virtual ~Op() = default;

  // Computes the outputs straight from the ONNX text, with double accumulators; shares no code with
  // any kernel. Errors give what was expected and what was found (the executor adds the node's name
  // and op type): kInvalidArgument for types, shapes and values that ONNX rules out, kUnimplemented
  // for those that attnrun does not cover.
  virtual absl::Status Reference(OpContext& context) const = 0;

  // Derives facts about the outputs from facts about the inputs. They must hold in every run that
  // succeeds. Setting none is always correct.
  virtual void Infer(InferContext& /*context*/) const {}

  // Derives from these facts which axes of inputs and outputs go together (see AxisTrack). A track
  // must hold in every run that succeeds. Adding none is always correct. Not called for operators
  // with the trait `elementwise`, whose tracks follow from it.
  virtual void Axes(AxesContext& /*context*/) const {}

  // Makes the kernel; null if there is none, so that the reference code runs. May do work once,
  // such as packing constant weights.
  virtual absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(
      const KernelContext& /*context*/) const {
    return nullptr;
  }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_OP_H_
