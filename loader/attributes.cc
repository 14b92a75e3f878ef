// SPDX-License-Identifier: Apache-2.0
#include "loader/attributes.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "loader/type_reader.h"

namespace attnrun::loader {
namespace {

using onnx::AttributeProto;

std::string KindName(AttributeProto::AttributeType kind) {
  return absl::AsciiStrToLower(AttributeProto::AttributeType_Name(kind));
}

// The kinds of the fields that are present.
std::vector<AttributeProto::AttributeType> HeldKinds(const AttributeProto& proto) {
  const std::pair<bool, AttributeProto::AttributeType> fields[] = {
      {proto.has_f(), AttributeProto::FLOAT},
      {proto.has_i(), AttributeProto::INT},
      {proto.has_s(), AttributeProto::STRING},
      {proto.has_t(), AttributeProto::TENSOR},
      {proto.has_g(), AttributeProto::GRAPH},
      {proto.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
      {proto.has_tp(), AttributeProto::TYPE_PROTO},
      {proto.floats_size() > 0, AttributeProto::FLOATS},
      {proto.ints_size() > 0, AttributeProto::INTS},
      {proto.strings_size() > 0, AttributeProto::STRINGS},
      {proto.tensors_size() > 0, AttributeProto::TENSORS},
      {proto.graphs_size() > 0, AttributeProto::GRAPHS},
      {proto.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS},
      {proto.type_protos_size() > 0, AttributeProto::TYPE_PROTOS}};
  std::vector<AttributeProto::AttributeType> kinds;
  for (const auto& [present, kind] : fields) {
    if (present) kinds.push_back(kind);
  }
  return kinds;
}

// A file may omit numbers, strings and lists that are 0 or empty, but not messages.
bool MayBeAbsent(AttributeProto::AttributeType kind) {
  return kind != AttributeProto::TENSOR && kind != AttributeProto::GRAPH &&
         kind != AttributeProto::SPARSE_TENSOR && kind != AttributeProto::TYPE_PROTO;
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(const AttributeProto& proto,
                                                const TensorSource& source) {
  std::vector<Tensor> tensors;
  for (const auto& tensor_proto : proto.tensors()) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(tensor_proto, source));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<AttributeProto::AttributeType> ReadAttributeKind(const AttributeProto& proto) {
  const std::vector<AttributeProto::AttributeType> held = HeldKinds(proto);
  if (held.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("expected one value, but found both ",
                                                   KindName(held[0]), " and ", KindName(held[1])));
  }
  if (proto.type() == AttributeProto::UNDEFINED) {
    if (held.empty()) return absl::InvalidArgumentError("it has no value");
    return held[0];
  }
  if (held.empty() ? !MayBeAbsent(proto.type()) : held[0] != proto.type()) {
    return absl::InvalidArgumentError(absl::StrCat("it is declared ", KindName(proto.type()),
                                                   ", but holds ",
                                                   held.empty() ? "nothing" : KindName(held[0])));
  }
  return proto.type();
}

absl::StatusOr<AttributeValue> ReadAttribute(const AttributeProto& proto,
                                             const TensorSource& source) {
  ATTNRUN_ASSIGN_OR_RETURN(const auto kind, ReadAttributeKind(proto));
  switch (kind) {
    case AttributeProto::INT:
      return AttributeValue(proto.i());
    case AttributeProto::FLOAT:
      return AttributeValue(proto.f());
    case AttributeProto::STRING:
      return AttributeValue(proto.s());
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::FLOATS:
      return AttributeValue(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(
          std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR:
      return ReadTensor(proto.t(), source);
    case AttributeProto::TENSORS:
      return ReadTensors(proto, source);
    case AttributeProto::SPARSE_TENSOR:
      return ReadSparseTensor(proto.sparse_tensor(), source);
    case AttributeProto::TYPE_PROTO:
      return ReadType(proto.tp());
    default:
      return absl::UnimplementedError(
          absl::StrCat("attributes of kind ", KindName(kind), " are not supported"));
  }
}

}  // namespace attnrun::loader
