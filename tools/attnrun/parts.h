// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_PARTS_H_
#define ATTNRUN_TOOLS_ATTNRUN_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

// Arrays stand for values as follows. A tensor x is the array "x". A sequence x of three tensors is
// the arrays "x/0", "x/1" and "x/2"; a sequence without any is "x/empty", an array of the tensors'
// type without elements. An optional is what its element is; without one, it has no array.
namespace attnrun::cli {

// The place of an array in the value that it belongs to.
struct Place {
  static constexpr int64_t kWhole = -1;
  static constexpr int64_t kEmpty = -2;

  const ValueInfo* info = nullptr;
  // The tensor of the sequence.
  int64_t index = kWhole;
};

// The place of the array `name`, which a value of that very name gets first. nullopt if there is
// none.
std::optional<Place> PlaceOf(const std::string& name, const std::vector<ValueInfo>& declared);

// Puts sequences together from their tensors.
class Parts {
 public:
  // kInvalidArgument for a whole array, where a sequence is declared.
  absl::Status Add(const Place& place, Tensor tensor);
  // Adds the values to `values`. kInvalidArgument if a tensor of a sequence is missing.
  absl::Status AddTo(TensorMap& values) &&;

 private:
  TensorMap whole_;
  std::map<std::string, std::map<int64_t, Tensor>> sequences_;
};

// The arrays of values, by name. Tensors keep their places.
std::vector<std::pair<std::string, Tensor>> ArraysOf(
    const std::vector<std::pair<std::string, Tensor>>& values);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_PARTS_H_
