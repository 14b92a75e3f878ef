// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_SCHEMA_FIELDS_H_
#define ATTNRUN_LOADER_SCHEMA_FIELDS_H_

namespace attnrun::loader {

// The messages of ONNX's schema that contain tensors, directly or deeper inside.
enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction, kOther };

// A field that the loader reads. `message` is its type if it may contain tensors, otherwise kOther.
struct Field {
  int number;
  Message message = Message::kOther;
};

// The field's entry; null if the loader does not read that field of the message.
const Field* FindField(Message message, int number);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_SCHEMA_FIELDS_H_
