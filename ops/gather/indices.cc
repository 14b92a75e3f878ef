#include "ops/gather/indices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun {

absl::Status IndexOutside(int64_t index, int axis, const Tensor& data) {
  return absl::InvalidArgumentError(absl::StrCat("index ", index, " is outside [", -data.dim(axis),
                                                 ",", data.dim(axis) - 1, "] along axis ", axis,
                                                 " of data ", TypeAndShape(data)));
}

absl::Status CheckIndexType(const Tensor& indices) {
  if (indices.type() == DataType::kInt64 || indices.type() == DataType::kInt32) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("indices must be int32 or int64, but are ", TypeAndShape(indices)));
}

absl::Status CheckIndices(const Tensor& indices, int axis, const Tensor& data) {
  ATTNRUN_RETURN_IF_ERROR(CheckIndexType(indices));
  const int64_t extent = data.dim(axis);
  return WithIndices(indices, [&](const auto* values) -> absl::Status {
    const auto outside = [&](int64_t index) { return index < -extent || index >= extent; };
    const auto* const end = values + indices.num_elements();
    // Many at a time without a branch, which vectors do; then the first wrong one is looked for.
    constexpr int64_t kAtOnce = 1024;
    for (const auto* begin = values; begin < end; begin += std::min(kAtOnce, end - begin)) {
      const int64_t count = std::min(kAtOnce, end - begin);
      bool wrong = false;
      for (int64_t i = 0; i < count; ++i) wrong |= outside(begin[i]);
      if (wrong) return IndexOutside(*std::find_if(begin, end, outside), axis, data);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<int64_t>> ReadIndices(const Tensor& indices, int axis,
                                                 const Tensor& data) {
  ATTNRUN_RETURN_IF_ERROR(CheckIndices(indices, axis, data));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInts(indices));
  for (int64_t& value : values) value = WrapIndex(value, data.dim(axis));
  return values;
}

}  // namespace attnrun
