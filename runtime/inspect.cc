// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"
#include "checked_options.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "execution/support.h"
#include "inputs.h"
#include "loader/loader.h"

namespace attnrun {
namespace {

void CountTensor(const Tensor& tensor, ModelInfo& info) {
  info.parameters += tensor.num_elements();
  info.parameter_bytes += static_cast<int64_t>(tensor.byte_size());
}

// Counts initializers and tensor attributes (Constant nodes), subgraphs included.
void CountParameters(const Graph& graph, ModelInfo& info) {
  for (const Value* value : graph.values()) {
    if (value->constant() != nullptr) CountTensor(*value->constant(), info);
  }
  for (const Node* node : graph.nodes()) {
    for (const auto& [name, attribute] : node->attributes()) {
      if (const auto* tensor = std::get_if<Tensor>(&attribute)) CountTensor(*tensor, info);
      if (const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
        CountParameters(**subgraph, info);
      }
    }
  }
}

absl::StatusOr<ModelInfo> Inspect(const std::string& path, const Limits& limits) {
  SessionOptions options;
  options.limits = limits;
  ATTNRUN_ASSIGN_OR_RETURN(const loader::LoadOptions reading, LoadOptionsOf(options));
  ATTNRUN_ASSIGN_OR_RETURN(const loader::Model model, loader::LoadModel(path, reading));
  ModelInfo info;
  info.ir_version = model.ir_version;
  info.producer = model.producer;
  info.domain = model.domain;
  info.model_version = model.version;
  info.description = model.description;
  info.metadata = model.metadata;
  info.opsets = model.opsets;
  info.inputs = DescribeInputs(*model.graph);
  info.outputs = DescribeOutputs(*model.graph);
  exec::CountOps(*model.graph, info.op_counts);
  CountParameters(*model.graph, info);
  info.unsupported = exec::FindUnsupported(*model.graph);
  return info;
}

}  // namespace

absl::StatusOr<ModelInfo> InspectModel(const std::string& path, const Limits& limits) {
  return WithoutExceptions([&] { return Inspect(path, limits); });
}

}  // namespace attnrun
