// SPDX-License-Identifier: Apache-2.0
// The loader: parses and checks the bytes of a file.
#include "fuzz/targets/model_mutator.h"
#include "fuzz/targets/target.h"
#include "graph/dump.h"
#include "loader/loader.h"

namespace attnrun::testing {

const std::vector<std::string>& OperatorNames() {
  static const auto& names = *new std::vector<std::string>{"Add",      "If",      "Loop",   "Scan",
                                                           "Constant", "Softmax", "Concat", "Cast"};
  return names;
}

}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attnrun::loader::LoadOptions options;
  options.limits.nodes = 10'000;
  options.limits.function_nodes = 10'000;
  const auto model =
      attnrun::loader::ParseModel({reinterpret_cast<const char*>(data), size}, options);
  if (model.ok()) attnrun::DumpText(*model->graph);
  return 0;
}
