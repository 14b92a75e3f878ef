#include "ops/run_reference.h"

#include <exception>
#include <memory>

#include "core/status.h"
#include "ops/registry.h"

namespace attnrun {

absl::StatusOr<std::vector<Tensor>> RunReference(const Node& node, absl::Span<const Tensor> inputs,
                                                 Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<Op> op, OpRegistry::Get().Create(node));
  std::vector<Tensor> outputs(node.outputs().size());
  OpContext context(inputs, absl::MakeSpan(outputs), allocator);
  try {
    ATTNRUN_RETURN_IF_ERROR(op->Reference(context));
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
  for (Tensor& output : outputs) {
    if (output.defined()) {
      ATTNRUN_ASSIGN_OR_RETURN(output, output.Dense());
    }
  }
  return outputs;
}

}  // namespace attnrun
