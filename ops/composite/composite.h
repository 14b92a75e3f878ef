// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_COMPOSITE_H_
#define ATTNRUN_OPS_COMPOSITE_COMPOSITE_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ops/composite/body.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// Runs a body node by node, each on its operator's reference code, and sets the context's outputs.
// Numbers of 16 bits are computed as float, and rounded at the end. An error names the operator of
// the node.
absl::Status RunBody(OpContext& context, absl::FunctionRef<void(Body&)> write);

// Derives facts about the outputs through a body's nodes. If the body fails, derives none and
// returns the reason, else an empty string.
std::string InferThroughBody(InferContext& context, absl::FunctionRef<void(Body&)> write);

// An operator that consists of others and is described by nothing else.
class Composite final : public Op, public HasBody {
 public:
  // Writes the body of one node, whose attributes it has.
  using Writer = std::function<void(Body&)>;

  explicit Composite(Writer writer) : writer_(std::move(writer)) {}

  absl::Status Reference(OpContext& context) const override { return RunBody(context, writer_); }
  void Infer(InferContext& context) const override { InferThroughBody(context, writer_); }
  void WriteBody(Body& body) const override { writer_(body); }

 private:
  Writer writer_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_COMPOSITE_H_
