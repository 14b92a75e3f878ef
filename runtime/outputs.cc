// SPDX-License-Identifier: Apache-2.0
#include "outputs.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "core/strided.h"
#include "inputs.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun {
namespace {

// Precondition: types and shapes are equal, and `from` is dense.
void CopyInto(const Tensor& from, Tensor& to) {
  const Shape strides = ops::StridesOf(to);
  if (from.type() == DataType::kString) {
    const auto* in = from.data<std::string>();
    auto* out = to.mutable_data<std::string>();
    ForEachOffset(to.shape(), strides, [&](int64_t offset) { out[offset] = *in++; });
    return;
  }
  if (to.is_dense()) {
    if (from.byte_size() > 0) std::memcpy(to.mutable_raw(), from.raw(), from.byte_size());
    return;
  }
  const int width = BitWidth(from.type()) / 8;
  const auto* in = from.data<char>();
  auto* out = to.mutable_data<char>();
  ForEachOffset(to.shape(), strides, [&](int64_t offset) {
    std::memcpy(out + offset * width, in, width);
    in += width;
  });
}

// Sequences are replaced: they hold no bytes to be filled.
bool IsBuffer(const Tensor& wanted) { return wanted.defined() && !wanted.is_sequence(); }

absl::Status CheckFits(const ValueInfo& declared, const Tensor& result, const Tensor& buffer) {
  if (buffer.type() == result.type() && buffer.shape() == result.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output ", Quoted(declared.name), " is ", TypeAndShape(result),
                   ", but the buffer given for it is ", TypeAndShape(buffer)));
}

}  // namespace

absl::Status CheckWanted(const std::vector<ValueInfo>& declared, const TensorMap& wanted) {
  ATTNRUN_RETURN_IF_ERROR(CheckNames("output", declared, wanted));
  for (const auto& [name, buffer] : wanted) {
    if (buffer.defined() && !buffer.is_mutable() && !buffer.is_sequence()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the buffer given for output ", Quoted(name), " may not be written"));
    }
  }
  return absl::OkStatus();
}

absl::Status Deliver(const std::vector<ValueInfo>& declared, absl::Span<const Tensor> results,
                     TensorMap& wanted) {
  for (size_t i = 0; i < results.size(); ++i) {
    const auto it = wanted.find(declared[i].name);
    if (it == wanted.end() || !IsBuffer(it->second)) continue;
    ATTNRUN_RETURN_IF_ERROR(CheckFits(declared[i], results[i], it->second));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const auto it = wanted.find(declared[i].name);
    if (it == wanted.end()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor dense, results[i].Dense());
    if (IsBuffer(it->second)) {
      CopyInto(dense, it->second);
    } else {
      it->second = std::move(dense);
    }
  }
  return absl::OkStatus();
}

}  // namespace attnrun
