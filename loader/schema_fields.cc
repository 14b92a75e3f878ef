// SPDX-License-Identifier: Apache-2.0
#include "loader/schema_fields.h"

#include "absl/types/span.h"
#include "onnx.pb.h"

namespace attnrun::loader {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::SparseTensorProto;
using onnx::TensorProto;

constexpr Field kModelFields[] = {{ModelProto::kIrVersionFieldNumber},
                                  {ModelProto::kOpsetImportFieldNumber},
                                  {ModelProto::kProducerNameFieldNumber},
                                  {ModelProto::kProducerVersionFieldNumber},
                                  {ModelProto::kDomainFieldNumber},
                                  {ModelProto::kModelVersionFieldNumber},
                                  {ModelProto::kDocStringFieldNumber},
                                  {ModelProto::kMetadataPropsFieldNumber},
                                  {ModelProto::kGraphFieldNumber, Message::kGraph},
                                  {ModelProto::kFunctionsFieldNumber, Message::kFunction}};
constexpr Field kGraphFields[] = {
    {GraphProto::kNodeFieldNumber, Message::kNode},
    {GraphProto::kNameFieldNumber},
    {GraphProto::kInitializerFieldNumber, Message::kTensor},
    {GraphProto::kSparseInitializerFieldNumber, Message::kSparseTensor},
    {GraphProto::kInputFieldNumber},
    {GraphProto::kOutputFieldNumber},
    {GraphProto::kValueInfoFieldNumber}};
constexpr Field kNodeFields[] = {{NodeProto::kInputFieldNumber},
                                 {NodeProto::kOutputFieldNumber},
                                 {NodeProto::kNameFieldNumber},
                                 {NodeProto::kOpTypeFieldNumber},
                                 {NodeProto::kDomainFieldNumber},
                                 {NodeProto::kOverloadFieldNumber},
                                 {NodeProto::kAttributeFieldNumber, Message::kAttribute}};
constexpr Field kAttributeFields[] = {
    {AttributeProto::kNameFieldNumber},
    {AttributeProto::kRefAttrNameFieldNumber},
    {AttributeProto::kTypeFieldNumber},
    {AttributeProto::kFFieldNumber},
    {AttributeProto::kIFieldNumber},
    {AttributeProto::kSFieldNumber},
    {AttributeProto::kTFieldNumber, Message::kTensor},
    {AttributeProto::kGFieldNumber, Message::kGraph},
    {AttributeProto::kSparseTensorFieldNumber, Message::kSparseTensor},
    {AttributeProto::kTpFieldNumber},
    {AttributeProto::kFloatsFieldNumber},
    {AttributeProto::kIntsFieldNumber},
    {AttributeProto::kStringsFieldNumber},
    {AttributeProto::kTensorsFieldNumber, Message::kTensor},
    {AttributeProto::kGraphsFieldNumber, Message::kGraph},
    {AttributeProto::kSparseTensorsFieldNumber, Message::kSparseTensor},
    {AttributeProto::kTypeProtosFieldNumber}};
constexpr Field kTensorFields[] = {
    {TensorProto::kDimsFieldNumber},         {TensorProto::kDataTypeFieldNumber},
    {TensorProto::kSegmentFieldNumber},      {TensorProto::kFloatDataFieldNumber},
    {TensorProto::kInt32DataFieldNumber},    {TensorProto::kStringDataFieldNumber},
    {TensorProto::kInt64DataFieldNumber},    {TensorProto::kNameFieldNumber},
    {TensorProto::kRawDataFieldNumber},      {TensorProto::kExternalDataFieldNumber},
    {TensorProto::kDataLocationFieldNumber}, {TensorProto::kDoubleDataFieldNumber},
    {TensorProto::kUint64DataFieldNumber}};
constexpr Field kSparseTensorFields[] = {{SparseTensorProto::kValuesFieldNumber, Message::kTensor},
                                         {SparseTensorProto::kIndicesFieldNumber, Message::kTensor},
                                         {SparseTensorProto::kDimsFieldNumber}};
constexpr Field kFunctionFields[] = {
    {FunctionProto::kNameFieldNumber},
    {FunctionProto::kInputFieldNumber},
    {FunctionProto::kOutputFieldNumber},
    {FunctionProto::kAttributeFieldNumber},
    {FunctionProto::kAttributeProtoFieldNumber, Message::kAttribute},
    {FunctionProto::kNodeFieldNumber, Message::kNode},
    {FunctionProto::kOpsetImportFieldNumber},
    {FunctionProto::kDomainFieldNumber},
    {FunctionProto::kOverloadFieldNumber}};

absl::Span<const Field> FieldsOf(Message message) {
  switch (message) {
    case Message::kModel:
      return kModelFields;
    case Message::kGraph:
      return kGraphFields;
    case Message::kNode:
      return kNodeFields;
    case Message::kAttribute:
      return kAttributeFields;
    case Message::kTensor:
      return kTensorFields;
    case Message::kSparseTensor:
      return kSparseTensorFields;
    case Message::kFunction:
      return kFunctionFields;
    case Message::kOther:
      break;
  }
  return {};
}

}  // namespace

const Field* FindField(Message message, int number) {
  for (const Field& field : FieldsOf(message)) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

}  // namespace attnrun::loader
