// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_NODE_NAMES_H_
#define ATTNRUN_LOADER_NODE_NAMES_H_

#include <cstdint>
#include <string>

#include "core/hash_map.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// Gives each node of a model a unique name. ONNX allows unnamed nodes and repeated names.
class NodeNames {
 public:
  // Reserves the names of nodes in this graph and in its subgraphs, so that no invented name equals
  // one of them.
  void Reserve(const onnx::GraphProto& graph);

  // `name`; if it is taken, name_0, name_1, ...; for an unnamed node op_type_0, op_type_1, ...
  std::string Unique(const std::string& name, const std::string& op_type);

 private:
  HashSet<std::string> reserved_;
  HashSet<std::string> taken_;
  HashMap<std::string, int64_t> next_;
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_NODE_NAMES_H_
