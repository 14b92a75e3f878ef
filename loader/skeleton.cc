// SPDX-License-Identifier: Apache-2.0
#include "loader/skeleton.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "loader/schema_fields.h"
#include "onnx.pb.h"

namespace attnrun::loader {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using onnx::TensorProto;

bool IsElementsField(int number) {
  return number == TensorProto::kRawDataFieldNumber ||
         number == TensorProto::kFloatDataFieldNumber ||
         number == TensorProto::kDoubleDataFieldNumber;
}

// The position of one field in the file.
struct WireField {
  int number = 0;
  WireFormatLite::WireType type = WireFormatLite::WIRETYPE_VARINT;
  // [begin, end) is the whole field; [body, end) is the part after tag and length.
  size_t begin = 0;
  size_t body = 0;
  size_t end = 0;
};

void AppendVarint(uint64_t value, std::string& out) {
  std::array<uint8_t, 10> buffer;
  const uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, buffer.data());
  out.append(reinterpret_cast<const char*>(buffer.data()), end - buffer.data());
}

void AppendDelimited(int number, absl::string_view body, std::string& out) {
  AppendVarint(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), out);
  AppendVarint(body.size(), out);
  out.append(body.data(), body.size());
}

void AppendPayload(const WireField& field, std::string& out) {
  const Payload payload{field.body, field.end - field.body, static_cast<uint64_t>(field.number)};
  std::array<char, sizeof(Payload)> note;
  std::memcpy(note.data(), &payload, sizeof(payload));
  AppendDelimited(TensorProto::kRawDataFieldNumber, {note.data(), note.size()}, out);
}

class SkeletonWriter {
 public:
  explicit SkeletonWriter(absl::string_view bytes) : bytes_(bytes) {}

  // Appends a copy of the message at [begin, end), without the fields that are left out.
  absl::Status Copy(Message message, size_t begin, size_t end, int nesting, std::string& out) const;
  absl::StatusOr<WireField> ReadField(size_t begin, size_t end) const;

 private:
  // Reads a few bytes per stream, because protobuf's streams count positions in 32 bits.
  absl::StatusOr<uint64_t> ReadVarint(size_t& position, size_t end) const;
  absl::Status CopyNested(const Field& field, const WireField& wire, int nesting,
                          std::string& out) const;
  // True if all elements of the tensor are in one field and in one piece, so that a Payload can
  // replace them.
  absl::StatusOr<bool> HasOnePayload(size_t begin, size_t end) const;

  const absl::string_view bytes_;
};

absl::StatusOr<uint64_t> SkeletonWriter::ReadVarint(size_t& position, size_t end) const {
  constexpr size_t kLongest = 10;
  const size_t window = std::min(end - position, kLongest);
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes_.data()) + position,
                          static_cast<int>(window));
  uint64_t value = 0;
  if (!stream.ReadVarint64(&value)) {
    return absl::DataLossError(absl::StrCat("at byte ", position,
                                            window < kLongest
                                                ? " it is truncated or damaged"
                                                : " it is damaged: a number does not end"));
  }
  position += stream.CurrentPosition();
  return value;
}

absl::StatusOr<WireField> SkeletonWriter::ReadField(size_t begin, size_t end) const {
  WireField field;
  field.begin = begin;
  size_t position = begin;
  ATTNRUN_ASSIGN_OR_RETURN(const uint64_t tag, ReadVarint(position, end));
  field.number = static_cast<int>(tag >> 3);
  field.type = static_cast<WireFormatLite::WireType>(tag & 7);
  uint64_t size = 0;
  switch (tag > std::numeric_limits<uint32_t>::max() || tag < 8 ? 7 : tag & 7) {
    case WireFormatLite::WIRETYPE_VARINT: {
      field.body = position;
      ATTNRUN_RETURN_IF_ERROR(ReadVarint(position, end).status());
      field.end = position;
      return field;
    }
    case WireFormatLite::WIRETYPE_FIXED64:
      size = 8;
      break;
    case WireFormatLite::WIRETYPE_FIXED32:
      size = 4;
      break;
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
      ATTNRUN_ASSIGN_OR_RETURN(size, ReadVarint(position, end));
      break;
    }
    default:
      return absl::DataLossError(
          absl::StrCat("the data at byte ", begin, " is not a field of a protobuf message"));
  }
  if (size > end - position) {
    return absl::DataLossError(
        absl::StrCat("at byte ", begin, " it is truncated or damaged: ", size,
                     " bytes should follow, but there are ", end - position));
  }
  field.body = position;
  field.end = position + size;
  return field;
}

absl::StatusOr<bool> SkeletonWriter::HasOnePayload(size_t begin, size_t end) const {
  int fields = 0;
  while (begin < end) {
    ATTNRUN_ASSIGN_OR_RETURN(const WireField wire, ReadField(begin, end));
    begin = wire.end;
    if (!IsElementsField(wire.number)) continue;
    if (wire.type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return false;
    ++fields;
  }
  return fields == 1;
}

absl::Status SkeletonWriter::CopyNested(const Field& field, const WireField& wire, int nesting,
                                        std::string& out) const {
  if (field.message == Message::kGraph && ++nesting > kMaxNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat("subgraphs are nested more than ", kMaxNesting, " deep"));
  }
  std::string body;
  ATTNRUN_RETURN_IF_ERROR(Copy(field.message, wire.body, wire.end, nesting, body));
  AppendDelimited(wire.number, body, out);
  return absl::OkStatus();
}

absl::Status SkeletonWriter::Copy(Message message, size_t begin, size_t end, int nesting,
                                  std::string& out) const {
  bool one_payload = false;
  if (message == Message::kTensor) {
    ATTNRUN_ASSIGN_OR_RETURN(one_payload, HasOnePayload(begin, end));
  }
  while (begin < end) {
    ATTNRUN_ASSIGN_OR_RETURN(const WireField wire, ReadField(begin, end));
    begin = wire.end;
    const Field* field = FindField(message, wire.number);
    if (field == nullptr) continue;
    const bool delimited = wire.type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (message == Message::kTensor && delimited && IsElementsField(wire.number) &&
        (one_payload || wire.number == TensorProto::kRawDataFieldNumber)) {
      AppendPayload(wire, out);
    } else if (field->message != Message::kOther && delimited) {
      ATTNRUN_RETURN_IF_ERROR(CopyNested(*field, wire, nesting, out));
    } else {
      out.append(bytes_.data() + wire.begin, wire.end - wire.begin);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MakeSkeleton(absl::string_view bytes, RootMessage root) {
  std::string skeleton;
  ATTNRUN_RETURN_IF_ERROR(
      SkeletonWriter(bytes).Copy(root == RootMessage::kModel ? Message::kModel : Message::kTensor,
                                 0, bytes.size(), 0, skeleton));
  if (skeleton.size() > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("besides the tensors' raw data it holds ", skeleton.size(),
                     " bytes, but at most ", std::numeric_limits<int32_t>::max(), " can be read"));
  }
  return skeleton;
}

absl::StatusOr<std::vector<absl::string_view>> FieldBodies(absl::string_view bytes, int number) {
  const SkeletonWriter reader(bytes);
  std::vector<absl::string_view> bodies;
  for (size_t begin = 0; begin < bytes.size();) {
    ATTNRUN_ASSIGN_OR_RETURN(const WireField field, reader.ReadField(begin, bytes.size()));
    begin = field.end;
    if (field.number != number || field.type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) continue;
    bodies.push_back(bytes.substr(field.body, field.end - field.body));
  }
  return bodies;
}

Payload ReadPayload(absl::string_view raw_data) {
  Payload payload;
  std::memcpy(&payload, raw_data.data(), std::min(raw_data.size(), sizeof(payload)));
  return payload;
}

}  // namespace attnrun::loader
