// SPDX-License-Identifier: Apache-2.0
#include "loader/type_reader.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::loader {
namespace {

absl::StatusOr<DataType> ReadElementType(int32_t number) {
  const auto type = static_cast<DataType>(number);
  if (type == DataType::kUndefined || IsValid(type)) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("expected an element type of 1 to 26, but found ", number));
}

// True for names that exporters give to extents that they do not know: Paddle writes "?", tf2onnx
// unk__1, unk__2, ... Equal ones do not mean equal extents.
bool IsUnknown(absl::string_view symbol) {
  if (!absl::ConsumePrefix(&symbol, "unk__")) return symbol == "?";
  return absl::c_all_of(symbol, absl::ascii_isdigit);
}

absl::StatusOr<Dim> ReadDim(const onnx::TensorShapeProto::Dimension& proto) {
  if (proto.has_dim_param()) {
    // transformers' exporter writes an extent that turned out to be fixed as the name of a number.
    int64_t number = 0;
    const bool digits = absl::c_all_of(proto.dim_param(), absl::ascii_isdigit);
    if (digits && absl::SimpleAtoi(proto.dim_param(), &number)) return Dim{number, ""};
    return Dim{-1, IsUnknown(proto.dim_param()) ? "" : proto.dim_param()};
  }
  if (!proto.has_dim_value() || proto.dim_value() == -1) return Dim{};
  if (proto.dim_value() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an extent of 0 or more, but found ", proto.dim_value()));
  }
  return Dim{proto.dim_value(), ""};
}

template <typename TensorType>
absl::StatusOr<Type> ReadTensorType(const TensorType& proto) {
  Type type;
  ATTNRUN_ASSIGN_OR_RETURN(type.element, ReadElementType(proto.elem_type()));
  if (!proto.has_shape()) return type;
  type.shape.emplace();
  for (const auto& dim_proto : proto.shape().dim()) {
    ATTNRUN_ASSIGN_OR_RETURN(Dim dim, ReadDim(dim_proto));
    type.shape->push_back(std::move(dim));
  }
  return type;
}

// The name of a type inside "map(...)": "tensor(float)".
std::string Spell(const Type& type) {
  if (!type.other.empty()) return type.other;
  std::string text = absl::StrCat("tensor(", Name(type.element), ")");
  if (HoldsSequence(type.kind)) text = absl::StrCat("sequence(", text, ")");
  return IsOptional(type.kind) ? absl::StrCat("optional(", text, ")") : text;
}

// A type that there are no values of.
Type Other(std::string spelled) {
  Type type;
  type.other = std::move(spelled);
  return type;
}

absl::StatusOr<Type> ReadSequenceType(const onnx::TypeProto::Sequence& proto) {
  ATTNRUN_ASSIGN_OR_RETURN(Type type, ReadType(proto.elem_type()));
  if (type.kind != ValueKind::kTensor || !type.other.empty()) {
    return Other(absl::StrCat("sequence(", Spell(type), ")"));
  }
  type.kind = ValueKind::kSequence;
  return type;
}

absl::StatusOr<Type> ReadOptionalType(const onnx::TypeProto::Optional& proto) {
  ATTNRUN_ASSIGN_OR_RETURN(Type type, ReadType(proto.elem_type()));
  if (IsOptional(type.kind) || !type.other.empty()) {
    return Other(absl::StrCat("optional(", Spell(type), ")"));
  }
  type.kind = HoldsSequence(type.kind) ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
  return type;
}

absl::StatusOr<Type> ReadMapType(const onnx::TypeProto::Map& proto) {
  ATTNRUN_ASSIGN_OR_RETURN(const DataType key, ReadElementType(proto.key_type()));
  ATTNRUN_ASSIGN_OR_RETURN(const Type value, ReadType(proto.value_type()));
  return Other(absl::StrCat("map(", Name(key), ",", Spell(value), ")"));
}

bool SaysNothing(const Type& type) {
  return type.kind == ValueKind::kTensor && type.element == DataType::kUndefined &&
         !type.shape.has_value() && type.other.empty();
}

bool Contradict(const Type& a, const Type& b) {
  if (SaysNothing(a) || SaysNothing(b)) return false;
  return a.kind != b.kind || (a.element != DataType::kUndefined &&
                              b.element != DataType::kUndefined && a.element != b.element);
}

// True if a tensor of this shape agrees with the declared dimensions.
bool Matches(const Shape& shape, const std::vector<Dim>& declared) {
  if (shape.size() != declared.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (declared[i].is_fixed() && declared[i].value != shape[i]) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Type> ReadType(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return ReadTensorType(proto.tensor_type());
    case onnx::TypeProto::kSequenceType:
      return ReadSequenceType(proto.sequence_type());
    case onnx::TypeProto::kOptionalType:
      return ReadOptionalType(proto.optional_type());
    case onnx::TypeProto::kMapType:
      return ReadMapType(proto.map_type());
    case onnx::TypeProto::kSparseTensorType: {
      ATTNRUN_ASSIGN_OR_RETURN(Type type, ReadTensorType(proto.sparse_tensor_type()));
      type.other = absl::StrCat("sparse_tensor(", Name(type.element), ")");
      return type;
    }
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
  }
  return Type();
}

absl::Status CheckDeclaration(absl::string_view name, const Tensor& data, const Type& declared) {
  const bool same_type =
      declared.element == DataType::kUndefined || declared.element == data.type();
  const bool same_shape = !declared.shape.has_value() || Matches(data.shape(), *declared.shape);
  const bool is_tensor = declared.kind == ValueKind::kTensor && declared.other.empty();
  if (same_type && same_shape && is_tensor) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), " is declared ", ToString(declared),
                                                 ", but its data is ", TypeAndShape(data)));
}

absl::Status Declare(Value* value, const Type& declared) {
  if (value->constant() != nullptr) {
    return CheckDeclaration(value->name(), *value->constant(), declared);
  }
  Type type = value->type();
  if (Contradict(type, declared)) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(value->name()), " is declared twice, as ",
                                                   ToString(type), " and as ", ToString(declared)));
  }
  if (SaysNothing(type)) type.kind = declared.kind;
  if (type.element == DataType::kUndefined) type.element = declared.element;
  if (!type.shape.has_value()) type.shape = declared.shape;
  if (type.other.empty()) type.other = declared.other;
  value->set_type(std::move(type));
  return absl::OkStatus();
}

}  // namespace attnrun::loader
