// SPDX-License-Identifier: Apache-2.0
#include "attnrun/tensor.h"

#include <complex>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/strided.h"

namespace attnrun {
namespace {

// Bytes of `count` dense elements; kInvalidArgument if that exceeds 64 bits.
absl::StatusOr<size_t> ByteSize(DataType type, int64_t count) {
  const int64_t bits = BitWidth(type);
  if (bits < 8) return static_cast<size_t>(count / (8 / bits) + (count % (8 / bits) != 0));
  const int64_t bytes = bits / 8;
  if (count > INT64_MAX / bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " elements of ", Name(type), " exceed 64-bit addresses"));
  }
  return static_cast<size_t>(count * bytes);
}

absl::Status CheckType(DataType type) {
  if (IsValid(type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("element type ", static_cast<int>(type), " is not one of ONNX's"));
}

// Constructs strings in the raw bytes, and destroys them before the bytes are freed.
std::shared_ptr<void> WithStrings(std::shared_ptr<void> bytes, int64_t count) {
  auto* strings = static_cast<std::string*>(bytes.get());
  std::uninitialized_default_construct_n(strings, count);
  return {strings, [bytes = std::move(bytes), count](void* data) {
            std::destroy_n(static_cast<std::string*>(data), count);
          }};
}

// True if elements lie one behind the other. Where an axis has one element, its stride does not
// matter.
bool AreDense(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  const Shape dense = DenseStrides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

}  // namespace

// Not inline, so that not every file compiles them again.
Tensor::Tensor() = default;
Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept = default;
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept = default;
Tensor::~Tensor() = default;

absl::StatusOr<Tensor> Tensor::Allocate(DataType type, absl::Span<const int64_t> shape,
                                        Allocator& allocator) {
  if (absl::Status status = CheckType(type); !status.ok()) return status;
  absl::StatusOr<int64_t> count = NumElements(shape);
  if (!count.ok()) return count.status();
  absl::StatusOr<size_t> bytes = ByteSize(type, *count);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::shared_ptr<void>> buffer = allocator.Allocate(*bytes);
  if (!buffer.ok()) return buffer.status();
  Tensor tensor;
  tensor.type_ = type;
  tensor.mutable_ = true;
  tensor.shape_.assign(shape.begin(), shape.end());
  tensor.num_elements_ = *count;
  std::shared_ptr<void> memory = *std::move(buffer);
  tensor.owner_ =
      type == DataType::kString ? WithStrings(std::move(memory), *count) : std::move(memory);
  tensor.data_ = tensor.owner_.get();
  return tensor;
}

absl::StatusOr<Tensor> Tensor::Borrow(DataType type, absl::Span<const int64_t> shape,
                                      const void* data, size_t size,
                                      std::shared_ptr<const void> keep_alive) {
  if (absl::Status status = CheckType(type); !status.ok()) return status;
  if (type == DataType::kString) {
    return absl::InvalidArgumentError("a tensor of strings cannot be borrowed");
  }
  absl::StatusOr<int64_t> count = NumElements(shape);
  if (!count.ok()) return count.status();
  absl::StatusOr<size_t> bytes = ByteSize(type, *count);
  if (!bytes.ok()) return bytes.status();
  if (*bytes != size) {
    return absl::InvalidArgumentError(absl::StrCat(Name(type), ToString(shape), " needs ", *bytes,
                                                   " bytes, but there are ", size));
  }
  Tensor tensor;
  tensor.type_ = type;
  tensor.shape_.assign(shape.begin(), shape.end());
  tensor.num_elements_ = *count;
  tensor.data_ = data;
  tensor.owner_ = std::move(keep_alive);
  return tensor;
}

absl::StatusOr<Tensor> Tensor::BorrowMutable(DataType type, absl::Span<const int64_t> shape,
                                             void* data, size_t size) {
  absl::StatusOr<Tensor> tensor = Borrow(type, shape, data, size);
  if (tensor.ok()) tensor->mutable_ = true;
  return tensor;
}

size_t Tensor::byte_size() const {
  // The size was checked when the tensor was made.
  return defined() ? ByteSize(type_, num_elements_).value_or(0) : 0;
}

absl::StatusOr<Tensor> Tensor::Reshaped(absl::Span<const int64_t> shape) const {
  absl::StatusOr<int64_t> count = NumElements(shape);
  if (!count.ok()) return count.status();
  if (!is_dense() || *count != num_elements_) {
    return absl::InvalidArgumentError(absl::StrCat("cannot reshape ", TypeAndShape(*this), " of ",
                                                   num_elements_, " elements to ",
                                                   ToString(shape)));
  }
  Tensor result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

Tensor Tensor::View(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                    int64_t offset) const {
  Tensor result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  result.num_elements_ = NumElements(shape).value_or(0);
  if (AreDense(shape, strides)) {
    result.strides_.clear();
  } else {
    result.strides_.assign(strides.begin(), strides.end());
  }
  result.data_ = static_cast<const char*>(data_) + offset * (BitWidth(type_) / 8);
  return result;
}

absl::StatusOr<Tensor> Tensor::Dense(Allocator& allocator) const {
  if (is_dense()) return *this;
  absl::StatusOr<Tensor> result = Allocate(type_, shape_, allocator);
  if (!result.ok()) return result;
  if (type_ == DataType::kString) {
    auto* out = result->mutable_data<std::string>();
    ForEachOffset(shape_, strides_, [&](int64_t offset) { *out++ = data<std::string>()[offset]; });
    return result;
  }
  const int width = BitWidth(type_) / 8;
  auto* out = result->mutable_data<char>();
  ForEachOffset(shape_, strides_, [&](int64_t offset) {
    std::memcpy(out, data<char>() + offset * width, width);
    out += width;
  });
  return result;
}

std::string TypeAndShape(const Tensor& tensor) {
  if (tensor.is_sequence()) {
    return absl::StrCat("sequence(", Name(tensor.element_type()), ")", ToString(tensor.shape()));
  }
  return absl::StrCat(Name(tensor.type()), ToString(tensor.shape()));
}

template <>
DataType DataTypeOf<float>() {
  return DataType::kFloat;
}
template <>
DataType DataTypeOf<double>() {
  return DataType::kDouble;
}
template <>
DataType DataTypeOf<bool>() {
  return DataType::kBool;
}
template <>
DataType DataTypeOf<int8_t>() {
  return DataType::kInt8;
}
template <>
DataType DataTypeOf<int16_t>() {
  return DataType::kInt16;
}
template <>
DataType DataTypeOf<int32_t>() {
  return DataType::kInt32;
}
template <>
DataType DataTypeOf<int64_t>() {
  return DataType::kInt64;
}
template <>
DataType DataTypeOf<uint8_t>() {
  return DataType::kUint8;
}
template <>
DataType DataTypeOf<uint16_t>() {
  return DataType::kUint16;
}
template <>
DataType DataTypeOf<uint32_t>() {
  return DataType::kUint32;
}
template <>
DataType DataTypeOf<uint64_t>() {
  return DataType::kUint64;
}
template <>
DataType DataTypeOf<std::string>() {
  return DataType::kString;
}
template <>
DataType DataTypeOf<std::complex<float>>() {
  return DataType::kComplex64;
}
template <>
DataType DataTypeOf<std::complex<double>>() {
  return DataType::kComplex128;
}

}  // namespace attnrun
