#ifndef ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_
#define ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_

#include <memory>

#include "ops/attribute_reader.h"
#include "ops/op.h"
#include "ops/registry.h"

namespace attnrun {

// ONNX Softmax-1, -11, -13 and LogSoftmax-1, -11, -13: y = exp(x) / sum(exp(x)) over `axis`, and
// its logarithm. Before version 13 the input is first flattened to 2-D at `axis`, so that the sum
// runs over `axis` and all axes after it. A slice that is -inf everywhere gives NaN.
class Softmax final : public Op {
 public:
  Softmax(AttributeReader& attributes, bool logarithm);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  int64_t axis_;
  // Versions before 13.
  bool flatten_;
  bool logarithm_;
};

void RegisterSoftmax(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_
