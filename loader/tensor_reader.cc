// SPDX-License-Identifier: Apache-2.0
#include "loader/tensor_reader.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "loader/skeleton.h"

namespace attnrun::loader {
namespace {

using onnx::TensorProto;

// Type and shape declared by a TensorProto.
struct Header {
  DataType type = DataType::kUndefined;
  Shape shape;
  int64_t count = 0;
};

std::string ToString(const Header& header) {
  return absl::StrCat(Name(header.type), attnrun::ToString(header.shape));
}

absl::StatusOr<Header> ReadHeader(const TensorProto& proto) {
  if (proto.has_segment())
    return absl::UnimplementedError("tensors stored in segments are not supported");
  Header header;
  header.type = static_cast<DataType>(proto.data_type());
  if (!IsValid(header.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an element type of 1 to 26, but found ", proto.data_type()));
  }
  header.shape.assign(proto.dims().begin(), proto.dims().end());
  ATTNRUN_ASSIGN_OR_RETURN(header.count, NumElements(header.shape));
  return header;
}

// A view of `bytes`; for bool a copy if any byte is not 0 or 1, which memory requires.
absl::StatusOr<Tensor> View(const Header& header, absl::string_view bytes,
                            const std::shared_ptr<const void>& keep_alive) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor view, Tensor::Borrow(header.type, header.shape, bytes.data(),
                                                       bytes.size(), keep_alive));
  const auto is_bool = [](char byte) { return byte == 0 || byte == 1; };
  if (header.type != DataType::kBool || std::all_of(bytes.begin(), bytes.end(), is_bool)) {
    return view;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(header.type, header.shape));
  std::transform(bytes.begin(), bytes.end(), copy.mutable_data<bool>(),
                 [](char byte) { return byte != 0; });
  return copy;
}

// The "offset" or "length" of external data; nullopt if there is no such entry.
absl::StatusOr<std::optional<uint64_t>> ReadNumber(const TensorProto& proto,
                                                   absl::string_view key) {
  for (const auto& entry : proto.external_data()) {
    if (entry.key() != key) continue;
    uint64_t value = 0;
    if (absl::SimpleAtoi(entry.value(), &value)) return value;
    return absl::InvalidArgumentError(absl::StrCat(
        "expected the ", key, " of its data as a number, but found ", Quoted(entry.value())));
  }
  return std::nullopt;
}

std::string ReadLocation(const TensorProto& proto) {
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") return entry.value();
  }
  return "";
}

// Size of the elements in bytes; kInvalidArgument if it exceeds 64 bits.
absl::StatusOr<uint64_t> ByteSize(const Header& header) {
  const int bits = BitWidth(header.type);
  const auto count = static_cast<uint64_t>(header.count);
  if (bits < 8) return count / (8 / bits) + (count % (8 / bits) != 0 ? 1 : 0);
  if (count > static_cast<uint64_t>(INT64_MAX) / (bits / 8)) {
    return absl::InvalidArgumentError(absl::StrCat(ToString(header), " exceeds 64-bit addresses"));
  }
  return count * (bits / 8);
}

absl::StatusOr<Tensor> ReadExternal(const TensorProto& proto, const Header& header,
                                    const TensorSource& source) {
  const std::string location = ReadLocation(proto);
  if (source.external == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("its data is in the file ", Quoted(location),
                                                   ", but a model given as bytes has no folder"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const uint64_t needed, ByteSize(header));
  ATTNRUN_ASSIGN_OR_RETURN(const std::optional<uint64_t> offset, ReadNumber(proto, "offset"));
  ATTNRUN_ASSIGN_OR_RETURN(const std::optional<uint64_t> length, ReadNumber(proto, "length"));
  if (length.has_value() && *length != needed) {
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(header), " needs ", needed, " bytes, but the length of its data is ", *length));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const auto file, source.external->Open(location));
  const absl::string_view bytes = file->bytes();
  const uint64_t begin = offset.value_or(0);
  if (begin > bytes.size() || needed > bytes.size() - begin) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", needed, " bytes at offset ", begin,
                                                   " of data file ", Quoted(location),
                                                   ", but it has ", bytes.size(), " bytes"));
  }
  return View(header, bytes.substr(begin, needed), file);
}

absl::Status CheckCount(const Header& header, absl::string_view field, int64_t expected,
                        int64_t found) {
  if (expected == found) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(ToString(header), " needs ", expected,
                                                 " values in ", field, ", but there are ", found));
}

// A tensor whose memory holds the `expected` values of a repeated field, converted to T.
template <typename T, typename Values>
absl::StatusOr<Tensor> CopyValues(const Header& header, absl::string_view field,
                                  const Values& values, int64_t expected) {
  ATTNRUN_RETURN_IF_ERROR(CheckCount(header, field, expected, values.size()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(header.type, header.shape));
  std::transform(values.begin(), values.end(), tensor.mutable_data<T>(),
                 [](const auto& value) { return static_cast<T>(value); });
  return tensor;
}

// int32_data holds every type of up to 32 bits except float, as bit patterns. A value holds several
// elements of a packed type.
absl::StatusOr<Tensor> CopyInt32Data(const TensorProto& proto, const Header& header) {
  const auto& values = proto.int32_data();
  if (header.type == DataType::kBool) {
    return CopyValues<bool>(header, "int32_data", values, header.count);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const uint64_t bytes, ByteSize(header));
  switch (BitWidth(header.type)) {
    case 32:
      return CopyValues<int32_t>(header, "int32_data", values, header.count);
    case 16:
      return CopyValues<uint16_t>(header, "int32_data", values, header.count);
    default:
      return CopyValues<uint8_t>(header, "int32_data", values, static_cast<int64_t>(bytes));
  }
}

absl::StatusOr<int64_t> Twice(const Header& header) {
  ATTNRUN_RETURN_IF_ERROR(ByteSize(header).status());
  return 2 * header.count;
}

absl::StatusOr<Tensor> CopyTypedData(const TensorProto& proto, const Header& header) {
  switch (header.type) {
    case DataType::kFloat:
      return CopyValues<float>(header, "float_data", proto.float_data(), header.count);
    case DataType::kDouble:
      return CopyValues<double>(header, "double_data", proto.double_data(), header.count);
    case DataType::kComplex64: {
      ATTNRUN_ASSIGN_OR_RETURN(const int64_t parts, Twice(header));
      return CopyValues<float>(header, "float_data", proto.float_data(), parts);
    }
    case DataType::kComplex128: {
      ATTNRUN_ASSIGN_OR_RETURN(const int64_t parts, Twice(header));
      return CopyValues<double>(header, "double_data", proto.double_data(), parts);
    }
    case DataType::kInt64:
      return CopyValues<int64_t>(header, "int64_data", proto.int64_data(), header.count);
    case DataType::kUint64:
      return CopyValues<uint64_t>(header, "uint64_data", proto.uint64_data(), header.count);
    case DataType::kUint32:
      return CopyValues<uint32_t>(header, "uint64_data", proto.uint64_data(), header.count);
    case DataType::kString:
      return CopyValues<std::string>(header, "string_data", proto.string_data(), header.count);
    default:
      return CopyInt32Data(proto, header);
  }
}

bool HasTypedData(const TensorProto& proto) {
  return proto.float_data_size() + proto.double_data_size() + proto.int32_data_size() +
             proto.int64_data_size() + proto.uint64_data_size() + proto.string_data_size() >
         0;
}

// raw_data may hold every type; float_data and double_data only types of such parts.
bool MayHold(uint64_t field, DataType type) {
  switch (field) {
    case TensorProto::kFloatDataFieldNumber:
      return type == DataType::kFloat || type == DataType::kComplex64;
    case TensorProto::kDoubleDataFieldNumber:
      return type == DataType::kDouble || type == DataType::kComplex128;
    default:
      return true;
  }
}

absl::StatusOr<Tensor> ReadPayloadTensor(const TensorProto& proto, const Header& header,
                                         const TensorSource& source) {
  if (HasTypedData(proto)) {
    return absl::InvalidArgumentError("it holds elements in more than one field");
  }
  const Payload payload = ReadPayload(proto.raw_data());
  if (!MayHold(payload.field, header.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the elements of ", ToString(header), " are in a field for other types"));
  }
  return View(header, source.bytes.substr(payload.offset, payload.size), source.keep_alive);
}

}  // namespace

absl::StatusOr<Tensor> ReadTensor(const TensorProto& proto, const TensorSource& source) {
  ATTNRUN_ASSIGN_OR_RETURN(const Header header, ReadHeader(proto));
  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  if (header.type == DataType::kString && (external || proto.has_raw_data())) {
    return absl::InvalidArgumentError("strings cannot be stored as raw or external data");
  }
  if (external) return ReadExternal(proto, header, source);
  if (proto.has_raw_data()) return ReadPayloadTensor(proto, header, source);
  return CopyTypedData(proto, header);
}

}  // namespace attnrun::loader
