// SPDX-License-Identifier: Apache-2.0
#include "make_tensor.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "status.h"

namespace attnrun::capi {
namespace {

absl::Status CheckStrides(const Layout& layout) {
  for (const int64_t stride : layout.strides) {
    if (stride < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected strides of at least 0, but found ", ToString(layout.strides)));
    }
  }
  if (BitWidth(layout.type) >= 8) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("elements of ", Name(layout.type), " are packed and have no strides"));
}

// The place of the last element; nullopt if there is none, or beyond int64.
std::optional<int64_t> LastElement(const Layout& layout) {
  int64_t last = 0;
  for (size_t axis = 0; axis < layout.shape.size(); ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(layout.shape[axis] - 1, layout.strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  return last;
}

// True if no two elements can be at one place: in the order of strides, each axis steps over all
// that the smaller ones reach.
bool AreApart(const Layout& layout) {
  std::vector<size_t> axes(layout.shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::sort(axes.begin(), axes.end(),
            [&](size_t a, size_t b) { return layout.strides[a] < layout.strides[b]; });
  int64_t reach = 0;
  for (const size_t axis : axes) {
    if (layout.shape[axis] <= 1) continue;
    if (layout.strides[axis] <= reach) return false;
    reach += (layout.shape[axis] - 1) * layout.strides[axis];
  }
  return true;
}

// A view of `memory`, a tensor of one axis, with the strides of `layout`.
absl::StatusOr<Tensor> Strided(const Layout& layout, const Tensor& memory) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(layout.shape));
  if (count > 0) {
    const std::optional<int64_t> last = LastElement(layout);
    if (!last.has_value() || *last >= memory.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an element of ", Name(layout.type), ToString(layout.shape), " with strides ",
          ToString(layout.strides), " lies outside of the ", memory.byte_size(), " bytes given"));
    }
    if (memory.is_mutable() && !AreApart(layout)) {
      return absl::InvalidArgumentError(
          absl::StrCat("two elements of an output of the shape ", ToString(layout.shape),
                       " with strides ", ToString(layout.strides), " may be at one place"));
    }
  }
  return memory.View(layout.shape, layout.strides, 0);
}

// Calls borrow(shape, size) for the tensor, or for its memory as a tensor of one axis.
template <typename Borrow>
absl::StatusOr<Tensor> BorrowBy(const RawLayout& raw, const void* data, size_t size,
                                Borrow borrow) {
  ATTNRUN_ASSIGN_OR_RETURN(const Layout layout, CheckLayout(raw));
  if (layout.type == DataType::kString) {
    return absl::InvalidArgumentError(
        "strings cannot be borrowed: attnrun_tensor_strings copies them");
  }
  if (data == nullptr && size > 0) return IsNull("data");
  if (raw.strides == nullptr) return borrow(layout.type, layout.shape, size);
  ATTNRUN_RETURN_IF_ERROR(CheckStrides(layout));
  const size_t width = BitWidth(layout.type) / 8;
  const auto count = static_cast<int64_t>(size / width);
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor memory, borrow(layout.type, Shape{count}, count * width));
  return Strided(layout, memory);
}

}  // namespace

absl::StatusOr<Layout> CheckLayout(const RawLayout& raw) {
  constexpr size_t kMostAxes = 64;
  Layout layout = {static_cast<DataType>(raw.type), {}, {}};
  if (!IsValid(layout.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected the type of a tensor, but found ", raw.type));
  }
  if (raw.rank > kMostAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kMostAxes, " axes, but found ", raw.rank));
  }
  if (raw.shape == nullptr && raw.rank > 0) return IsNull("shape");
  layout.shape.assign(raw.shape, raw.shape + raw.rank);
  if (raw.strides != nullptr) layout.strides.assign(raw.strides, raw.strides + raw.rank);
  ATTNRUN_RETURN_IF_ERROR(NumElements(layout.shape).status());
  return layout;
}

absl::StatusOr<Tensor> BorrowTensor(const RawLayout& raw, const void* data, size_t size) {
  return BorrowBy(raw, data, size, [&](DataType type, const Shape& shape, size_t bytes) {
    return Tensor::Borrow(type, shape, data, bytes);
  });
}

absl::StatusOr<Tensor> BorrowMutableTensor(const RawLayout& raw, void* data, size_t size) {
  return BorrowBy(raw, data, size, [&](DataType type, const Shape& shape, size_t bytes) {
    return Tensor::BorrowMutable(type, shape, data, bytes);
  });
}

absl::StatusOr<Tensor> CopyStrings(const RawLayout& raw, const char* const* strings,
                                   const size_t* lengths, size_t count) {
  ATTNRUN_ASSIGN_OR_RETURN(const Layout layout, CheckLayout(raw));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t wanted, NumElements(layout.shape));
  if (static_cast<uint64_t>(wanted) != count) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", wanted, " strings for the shape ",
                                                   ToString(layout.shape), ", but found ", count));
  }
  if (strings == nullptr && count > 0) return IsNull("strings");
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DataType::kString, layout.shape));
  auto* const elements = tensor.mutable_data<std::string>();
  for (size_t i = 0; i < count; ++i) {
    if (strings[i] == nullptr) return IsNull(absl::StrCat("strings[", i, "]"));
    elements[i] =
        lengths == nullptr ? std::string(strings[i]) : std::string(strings[i], lengths[i]);
  }
  return tensor;
}

}  // namespace attnrun::capi
