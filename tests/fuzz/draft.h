// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_DRAFT_H_
#define ATTNRUN_TESTS_FUZZ_DRAFT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace attnrun::testing {

struct DraftNode {
  std::string name;
  std::string op_type;
  std::string domain;
  int opset = 0;
  // Names of values; "" stands for an omitted input or output.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  AttributeMap attributes;
};

// A graph as plain data, to be taken apart, changed and built again.
struct Draft {
  std::map<std::string, Type> inputs;
  std::map<std::string, Tensor> constants;
  // In topological order.
  std::vector<DraftNode> nodes;
  std::vector<std::string> outputs;
};

// Drops the defaults of inputs. Returns kInvalidArgument if a node has subgraphs.
absl::StatusOr<Draft> DraftOf(const Graph& graph);

absl::StatusOr<std::unique_ptr<Graph>> Build(const Draft& draft);

// Drops nodes, constants and inputs that no output needs.
void Prune(Draft& draft);

// The graph in readable form, with the elements of its short constants.
std::string Text(const Draft& draft);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_DRAFT_H_
