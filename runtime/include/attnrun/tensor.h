// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TENSOR_H_
#define ATTNRUN_TENSOR_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/data_type.h"
#include "attnrun/export.h"
#include "attnrun/shape.h"

namespace attnrun {

// A source of memory for tensors.
class ATTNRUN_EXPORT Allocator {
 public:
  virtual ~Allocator() = default;

  // At least `bytes` bytes, aligned to 64, uninitialized. The memory is freed with the last copy of
  // the pointer. kResourceExhausted beyond the allocator's limit or when memory runs out.
  virtual absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) = 0;

  // The process heap, limited to half of the memory that this process may use. Thread-safe.
  static Allocator& Heap();
};

// An n-dimensional array: a typed view of a buffer, which it borrows or shares with its copies.
// Copying a Tensor shares the bytes. Elements are dense and row-major unless strides() says
// otherwise. Elements narrower than a byte are packed, the first in the lowest bits, and always
// dense. Elements of kString are std::string.
//
// A tensor of type kSequence is a sequence of tensors (ONNX's sequence(tensor(T))): it has one
// axis, and its elements are dense Tensors of one type, whose shapes may differ. An undefined
// tensor is also the value of an optional without an element.
class ATTNRUN_EXPORT Tensor {
 public:
  // An undefined tensor, of type kUndefined.
  Tensor();
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  // A dense tensor; numbers are uninitialized, strings are empty. kInvalidArgument for a shape that
  // NumElements rejects; kResourceExhausted if the allocator has no room.
  static absl::StatusOr<Tensor> Allocate(DataType type, absl::Span<const int64_t> shape,
                                         Allocator& allocator = Allocator::Heap());

  // A dense, read-only view of `size` bytes at `data`, which must outlive all copies of the tensor,
  // or be kept alive by `keep_alive`, which they share. Not for strings. kInvalidArgument if `size`
  // is not the size that type and shape need.
  static absl::StatusOr<Tensor> Borrow(DataType type, absl::Span<const int64_t> shape,
                                       const void* data, size_t size,
                                       std::shared_ptr<const void> keep_alive = nullptr);

  // As Borrow, for bytes that a run may write, such as a caller's output buffer.
  static absl::StatusOr<Tensor> BorrowMutable(DataType type, absl::Span<const int64_t> shape,
                                              void* data, size_t size);

  // A dense copy of `elements`. T as for data(). kInvalidArgument if their number does not match
  // `shape`.
  template <typename T>
  static absl::StatusOr<Tensor> Of(absl::Span<const int64_t> shape, absl::Span<const T> elements);

  // A sequence of tensors of type `element`, which shares the bytes of `tensors` where they are
  // dense. The allocator provides the memory of the Tensor objects. kInvalidArgument for a tensor
  // of another type, and if `element` is not valid.
  static absl::StatusOr<Tensor> Sequence(DataType element, absl::Span<const Tensor> tensors,
                                         Allocator& allocator = Allocator::Heap());

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t num_elements() const { return num_elements_; }
  // Size of the elements when dense, with packed types rounded up to a whole byte.
  size_t byte_size() const;
  bool defined() const { return type_ != DataType::kUndefined; }

  bool is_sequence() const { return type_ == DataType::kSequence; }
  // The tensors of a sequence, and their type, which an empty sequence has, too. Precondition:
  // is_sequence().
  absl::Span<const Tensor> tensors() const;
  DataType element_type() const;
  // The sequence with one tensor more at its end. It shares the Tensor objects with this one if
  // this one was never appended to before, so that building a sequence takes time in proportion to
  // its length. Thread-safe; errors as in Sequence. Precondition: is_sequence().
  absl::StatusOr<Tensor> Appended(const Tensor& tensor,
                                  Allocator& allocator = Allocator::Heap()) const;

  // Strides in elements; empty if dense.
  const Shape& strides() const { return strides_; }
  bool is_dense() const { return strides_.empty(); }

  // The elements. T must be the C++ type of type(): float, int64_t, bool, std::string,
  // std::complex<float> and so on; uint16_t for float16 and bfloat16, uint8_t for 8-bit floats and
  // packed types.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    return static_cast<T*>(mutable_raw());
  }
  const void* raw() const { return data_; }
  // Precondition: is_mutable().
  void* mutable_raw() { return const_cast<void*>(data_); }
  bool is_mutable() const { return mutable_; }

  // True if the bytes may be written and no other Tensor shares them.
  bool is_exclusive() const { return mutable_ && owner_ != nullptr && owner_.use_count() == 1; }

  // The pointer that keeps the bytes alive; null if the tensor borrows them without one.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // The same bytes with another shape. kInvalidArgument unless dense and of equal element count.
  absl::StatusOr<Tensor> Reshaped(absl::Span<const int64_t> shape) const;

  // A view with explicit strides that begins `offset` elements after this tensor's first. Not for
  // packed types. Precondition, not checked: every element lies within this tensor.
  Tensor View(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
              int64_t offset) const;

  // This tensor if dense, otherwise a dense copy.
  absl::StatusOr<Tensor> Dense(Allocator& allocator = Allocator::Heap()) const;

 private:
  DataType type_ = DataType::kUndefined;
  bool mutable_ = false;
  Shape shape_;
  Shape strides_;
  int64_t num_elements_ = 0;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Tensors, and sequences of them, by the name of a graph input or output.
using TensorMap = std::map<std::string, Tensor>;

// The DataType of a C++ type that names exactly one: float, double, bool, the integers,
// std::string, std::complex.
template <typename T>
ATTNRUN_EXPORT DataType DataTypeOf();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<float>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<double>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<bool>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<int8_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<int16_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<int32_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<int64_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<uint8_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<uint16_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<uint32_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<uint64_t>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<std::string>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<std::complex<float>>();
template <>
ATTNRUN_EXPORT DataType DataTypeOf<std::complex<double>>();

// "float[2,3]"; "sequence(float)[4]" for four tensors.
ATTNRUN_EXPORT std::string TypeAndShape(const Tensor& tensor);

template <typename T>
absl::StatusOr<Tensor> Tensor::Of(absl::Span<const int64_t> shape, absl::Span<const T> elements) {
  absl::StatusOr<Tensor> tensor = Allocate(DataTypeOf<T>(), shape);
  if (!tensor.ok()) return tensor;
  if (tensor->num_elements() != static_cast<int64_t>(elements.size())) {
    return absl::InvalidArgumentError("shape " + ToString(shape) + " does not hold " +
                                      std::to_string(elements.size()) + " elements");
  }
  T* out = tensor->template mutable_data<T>();
  for (const T& element : elements) *out++ = element;
  return tensor;
}

}  // namespace attnrun

#endif  // ATTNRUN_TENSOR_H_
