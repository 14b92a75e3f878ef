// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "make_tensor.h"
#include "status.h"

using attnrun::DataType;
using attnrun::Tensor;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;

namespace {

bool HasBytes(const Tensor& tensor) {
  return tensor.defined() && tensor.type() != DataType::kString && !tensor.is_sequence();
}

// Calls make(), a StatusOr<Tensor>, and puts the result into `*out`.
template <typename Make>
attnrun_status* Give(attnrun_tensor** out, Make make) {
  return Guarded([&]() -> absl::Status {
    if (out == nullptr) return IsNull("tensor");
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, make());
    *out = new attnrun_tensor{std::move(tensor)};
    return absl::OkStatus();
  });
}

}  // namespace

const char* attnrun_type_name(attnrun_type type) {
  const auto data_type = static_cast<DataType>(type);
  if (type == ATTNRUN_TYPE_SEQUENCE) return "sequence";
  // Names are string literals.
  return attnrun::IsValid(data_type) ? attnrun::Name(data_type).data() : "undefined";
}

attnrun_status* attnrun_tensor_borrow(attnrun_type type, size_t rank, const int64_t* shape,
                                      const int64_t* strides, const void* data, size_t size,
                                      attnrun_tensor** tensor) {
  return Give(tensor, [&] {
    return attnrun::capi::BorrowTensor({type, rank, shape, strides}, data, size);
  });
}

attnrun_status* attnrun_tensor_borrow_mutable(attnrun_type type, size_t rank, const int64_t* shape,
                                              const int64_t* strides, void* data, size_t size,
                                              attnrun_tensor** tensor) {
  return Give(tensor, [&] {
    return attnrun::capi::BorrowMutableTensor({type, rank, shape, strides}, data, size);
  });
}

attnrun_status* attnrun_tensor_allocate(attnrun_type type, size_t rank, const int64_t* shape,
                                        attnrun_tensor** tensor) {
  return Give(tensor, [&]() -> absl::StatusOr<Tensor> {
    ATTNRUN_ASSIGN_OR_RETURN(const auto layout,
                             attnrun::capi::CheckLayout({type, rank, shape, nullptr}));
    return Tensor::Allocate(layout.type, layout.shape);
  });
}

attnrun_status* attnrun_tensor_strings(size_t rank, const int64_t* shape,
                                       const char* const* strings, const size_t* lengths,
                                       size_t count, attnrun_tensor** tensor) {
  return Give(tensor, [&] {
    return attnrun::capi::CopyStrings({ATTNRUN_TYPE_STRING, rank, shape, nullptr}, strings, lengths,
                                      count);
  });
}

attnrun_status* attnrun_tensor_sequence(attnrun_type type, const attnrun_tensor* const* tensors,
                                        size_t count, attnrun_tensor** sequence) {
  return Give(sequence, [&]() -> absl::StatusOr<Tensor> {
    if (tensors == nullptr && count > 0) return IsNull("tensors");
    std::vector<Tensor> elements;
    for (size_t i = 0; i < count; ++i) {
      if (tensors[i] == nullptr) return IsNull(absl::StrCat("tensors[", i, "]"));
      elements.push_back(tensors[i]->tensor);
    }
    return Tensor::Sequence(static_cast<DataType>(type), elements);
  });
}

void attnrun_tensor_free(attnrun_tensor* tensor) { delete tensor; }

attnrun_type attnrun_tensor_type(const attnrun_tensor* tensor) {
  return static_cast<attnrun_type>(tensor->tensor.type());
}

size_t attnrun_tensor_rank(const attnrun_tensor* tensor) { return tensor->tensor.rank(); }

const int64_t* attnrun_tensor_shape(const attnrun_tensor* tensor) {
  return tensor->tensor.shape().data();
}

size_t attnrun_tensor_element_count(const attnrun_tensor* tensor) {
  return tensor->tensor.num_elements();
}

size_t attnrun_tensor_byte_size(const attnrun_tensor* tensor) {
  return HasBytes(tensor->tensor) ? tensor->tensor.byte_size() : 0;
}

const void* attnrun_tensor_data(const attnrun_tensor* tensor) {
  return HasBytes(tensor->tensor) ? tensor->tensor.raw() : nullptr;
}

void* attnrun_tensor_mutable_data(attnrun_tensor* tensor) {
  const bool is_mutable = HasBytes(tensor->tensor) && tensor->tensor.is_mutable();
  return is_mutable ? tensor->tensor.mutable_raw() : nullptr;
}

const char* attnrun_tensor_string(const attnrun_tensor* tensor, size_t index, size_t* length) {
  const Tensor& strings = tensor->tensor;
  if (strings.type() != DataType::kString || index >= attnrun_tensor_element_count(tensor)) {
    return nullptr;
  }
  const std::string& string = strings.data<std::string>()[index];
  if (length != nullptr) *length = string.size();
  return string.c_str();
}

attnrun_status* attnrun_tensor_sequence_at(const attnrun_tensor* sequence, size_t index,
                                           attnrun_tensor** tensor) {
  return Give(tensor, [&]() -> absl::StatusOr<Tensor> {
    if (sequence == nullptr) return IsNull("sequence");
    if (!sequence->tensor.is_sequence()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a sequence, but found ", attnrun::TypeAndShape(sequence->tensor)));
    }
    const auto tensors = sequence->tensor.tensors();
    if (index < tensors.size()) return tensors[index];
    return absl::OutOfRangeError(
        absl::StrCat("there is no tensor ", index, " in a sequence of ", tensors.size()));
  });
}
