// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_INPUTS_H_
#define ATTNRUN_RUNTIME_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"
#include "core/hash_map.h"
#include "graph/graph.h"

namespace attnrun {

std::vector<ValueInfo> DescribeInputs(const Graph& graph);
std::vector<ValueInfo> DescribeOutputs(const Graph& graph);

// kInvalidArgument if `given` has a name that is not declared; the message lists the declared
// names. `kind` is "input" or "output".
absl::Status CheckNames(absl::string_view kind, const std::vector<ValueInfo>& declared,
                        const TensorMap& given);

// The inputs that a model declares, made ready to check those of a run. To check tensors allocates
// nothing.
class InputRules {
 public:
  // `declared` must outlive the rules.
  explicit InputRules(const std::vector<ValueInfo>& declared);

  // Completes `tensors`, one per declared input: those that a state carries are there and stay as
  // they are, all others are undefined and become those of `given`, dense. Undefined ones are left
  // where a default applies or an optional has no element. Errors: the kInvalidArgument cases of
  // Session::Run. `equalities` are those of the graph.
  absl::Status Bind(const Equalities& equalities, const TensorMap& given,
                    std::vector<Tensor>& tensors) const;

 private:
  struct Bindings;

  absl::Status CheckValue(size_t input, const Tensor& value, Bindings& bindings) const;
  absl::Status CheckTensor(size_t input, const Tensor& tensor, Bindings& bindings) const;
  absl::Status CheckSequence(size_t input, const Tensor& sequence) const;
  absl::Status CheckEqualities(const Equalities& equalities, const Bindings& bindings) const;
  // The extent of a symbol; nullopt if no tensor has it.
  std::optional<int64_t> ExtentOf(const std::string& symbol, const Bindings& bindings) const;

  const std::vector<ValueInfo>& declared_;
  // By the text that SymInt gives them.
  HashMap<std::string, int> symbols_;
  // For each input the symbols of its axes; -1 for an axis of fixed extent.
  std::vector<std::vector<int>> axes_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_INPUTS_H_
