// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/run_node.h"

#include <exception>
#include <memory>
#include <new>

#include "core/status.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {
namespace {

absl::StatusOr<std::vector<Tensor>> RunNode(const Node& node, absl::Span<const Tensor> inputs,
                                            Allocator& allocator, bool by_kernel) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<Op> op, OpRegistry::Get().Create(node));
  std::vector<Tensor> outputs(node.outputs().size());
  OpContext context(inputs, absl::MakeSpan(outputs), allocator);
  try {
    std::unique_ptr<Kernel> kernel;
    if (by_kernel) {
      // No input is constant: there is only one run.
      const std::vector<Tensor> constants(inputs.size());
      ATTNRUN_ASSIGN_OR_RETURN(kernel, op->MakeKernel({constants}));
    }
    const bool accepts = kernel != nullptr && kernel->Accepts(context);
    ATTNRUN_RETURN_IF_ERROR(accepts ? kernel->Run(context) : op->Reference(context));
  } catch (const std::bad_alloc&) {
    throw;
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

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunReference(const Node& node, absl::Span<const Tensor> inputs,
                                                 Allocator& allocator) {
  return RunNode(node, inputs, allocator, false);
}

absl::StatusOr<std::vector<Tensor>> RunKernel(const Node& node, absl::Span<const Tensor> inputs,
                                              Allocator& allocator) {
  return RunNode(node, inputs, allocator, true);
}

}  // namespace attnrun::ops
