// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/shared_constants.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace attnrun::opt {

bool HasPlainBytes(const Tensor& tensor) {
  return tensor.type() != DataType::kString && tensor.is_dense();
}

std::string SampleOf(const Tensor& tensor) {
  // Samples runs of bytes at a few places only, since each place brings another page of the file
  // in.
  constexpr size_t kPlaces = 3;
  constexpr size_t kRun = 32;
  const absl::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  std::string key = absl::StrCat(TypeAndShape(tensor), ":");
  if (bytes.size() <= kPlaces * kRun) return absl::StrCat(key, bytes);
  for (size_t i = 0; i < kPlaces; ++i) {
    absl::StrAppend(&key, bytes.substr(i * (bytes.size() - kRun) / (kPlaces - 1), kRun));
  }
  return key;
}

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.raw() == b.raw()) return true;
  return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

void SharedConstants::Share(Graph& graph) {
  for (Value* value : graph.values()) {
    if (!value->is_constant() || !HasPlainBytes(*value->constant())) continue;
    const Tensor& tensor = *value->constant();
    std::vector<Tensor>& candidates = seen_[SampleOf(tensor)];
    const auto same = absl::c_find_if(
        candidates, [&](const Tensor& other) { return SameElements(other, tensor); });
    if (same == candidates.end()) {
      candidates.push_back(tensor);
    } else if (same->raw() != tensor.raw()) {
      graph.SetData(value, *same);
    }
  }
}

}  // namespace attnrun::opt
