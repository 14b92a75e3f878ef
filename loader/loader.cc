// SPDX-License-Identifier: Apache-2.0
#include "loader/loader.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file_bytes.h"
#include "core/growth.h"
#include "core/status.h"
#include "loader/external_data.h"
#include "loader/graph_reader.h"
#include "loader/skeleton.h"
#include "loader/tensor_reader.h"
#include "onnx.pb.h"

namespace attnrun::loader {
namespace {

using google::protobuf::Arena;

constexpr int64_t kOldestIrVersion = 3;
constexpr int64_t kNewestIrVersion = 14;

absl::Status CheckLooksBinary(absl::string_view bytes) {
  if (bytes.empty()) return absl::DataLossError("it is empty");
  if (absl::StartsWith(bytes, "version https://git-lfs")) {
    return absl::DataLossError("it is a Git LFS pointer; 'git lfs pull' fetches the file itself");
  }
  const absl::string_view head = bytes.substr(0, 64);
  const auto is_text = [](unsigned char c) {
    return absl::ascii_isprint(c) || absl::ascii_isspace(c);
  };
  // A model begins with the tag of its IR version, which is the control character 8.
  if (std::all_of(head.begin(), head.end(), is_text)) return absl::DataLossError("it is text");
  return absl::OkStatus();
}

// A small model needs one block.
google::protobuf::ArenaOptions ArenaFor(absl::string_view bytes) {
  constexpr size_t kMost = size_t{1} << 20;
  google::protobuf::ArenaOptions options;
  options.start_block_size = std::clamp(8 * bytes.size(), options.start_block_size, kMost);
  options.max_block_size = kMost;
  return options;
}

// Parses with a larger limit on depth than protobuf's default, which kMaxNesting would exceed.
// Without an arena, protobuf would lose the message that it is reading when memory runs out.
template <typename Proto>
absl::StatusOr<const Proto*> Parse(absl::string_view bytes, RootMessage root, Arena& arena) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::string skeleton, MakeSkeleton(bytes, root));
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(skeleton.data()),
                                                static_cast<int>(skeleton.size()));
  // Each subgraph adds three levels: graph, node and attribute. Types nest within values.
  stream.SetRecursionLimit(3 * kMaxNesting + 100);
  auto* const proto = Arena::CreateMessage<Proto>(&arena);
  if (proto->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return proto;
  return absl::DataLossError("its messages do not follow ONNX's schema, or are nested too deep");
}

absl::Status CheckModel(const onnx::ModelProto& proto) {
  if (!proto.has_graph()) {
    return absl::InvalidArgumentError("expected a model with a graph, but it has none");
  }
  if (!proto.has_ir_version()) {
    return absl::InvalidArgumentError(
        "expected a model that states its IR version, but found none");
  }
  if (proto.ir_version() < kOldestIrVersion || proto.ir_version() > kNewestIrVersion) {
    return absl::UnimplementedError(absl::StrCat("expected IR version ", kOldestIrVersion, " to ",
                                                 kNewestIrVersion, ", but found ",
                                                 proto.ir_version()));
  }
  if (proto.opset_import().empty()) {
    return absl::InvalidArgumentError("the model imports no opset");
  }
  return absl::OkStatus();
}

absl::StatusOr<Model> Read(const TensorSource& source, const LoadOptions& options) {
  ATTNRUN_RETURN_IF_ERROR(CheckLooksBinary(source.bytes));
  Arena arena(ArenaFor(source.bytes));
  ATTNRUN_ASSIGN_OR_RETURN(const auto* const parsed,
                           Parse<onnx::ModelProto>(source.bytes, RootMessage::kModel, arena));
  const onnx::ModelProto& proto = *parsed;
  ATTNRUN_RETURN_IF_ERROR(CheckModel(proto));
  Frame frame;
  ATTNRUN_ASSIGN_OR_RETURN(frame.opsets, ReadOpsets(proto.opset_import()));
  int64_t dense_left = std::min(options.limits.folded_bytes,
                                MostBytesFrom(static_cast<int64_t>(source.bytes.size())));
  ModelContext context;
  context.source = source;
  context.source.dense_left = &dense_left;
  context.ir_version = proto.ir_version();
  context.options = &options;
  ATTNRUN_RETURN_IF_ERROR(context.functions.Add(proto.functions()));
  context.node_names.Reserve(proto.graph());
  Model model;
  ATTNRUN_ASSIGN_OR_RETURN(model.graph, GraphReader(context, proto.graph(), frame, nullptr).Read());
  model.ir_version = proto.ir_version();
  model.producer = std::string(absl::StripAsciiWhitespace(
      absl::StrCat(proto.producer_name(), " ", proto.producer_version())));
  model.domain = proto.domain();
  model.version = proto.model_version();
  model.description = proto.doc_string();
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();
  model.opsets = std::move(frame.opsets);
  return model;
}

absl::StatusOr<Tensor> ParseTensor(const TensorSource& source) {
  Arena arena(ArenaFor(source.bytes));
  ATTNRUN_ASSIGN_OR_RETURN(const auto* const proto,
                           Parse<onnx::TensorProto>(source.bytes, RootMessage::kTensor, arena));
  return ReadTensor(*proto, source);
}

// SequenceProto and OptionalProto, which onnx.proto lacks, hold tensors in field 3 and sequences in
// field 5. Fields 4, 6 and 7 hold values of other types.
constexpr int kTensorField = 3;
constexpr int kSequenceField = 5;

absl::StatusOr<Tensor> ParseSequence(const TensorSource& source, const ValueInfo& declared) {
  ATTNRUN_ASSIGN_OR_RETURN(const auto bodies, FieldBodies(source.bytes, kTensorField));
  std::vector<Tensor> tensors;
  for (const absl::string_view body : bodies) {
    absl::StatusOr<Tensor> tensor = ParseTensor({body, source.keep_alive, source.external});
    if (!tensor.ok()) {
      return Annotate(tensor.status(), absl::StrCat("tensor ", tensors.size()));
    }
    tensors.push_back(*std::move(tensor));
  }
  return Tensor::Sequence(tensors.empty() ? declared.type : tensors.front().type(), tensors);
}

absl::StatusOr<Tensor> ParseValue(const TensorSource& source, const ValueInfo& declared) {
  if (declared.kind == ValueKind::kTensor) return ParseTensor(source);
  if (declared.kind == ValueKind::kSequence) return ParseSequence(source, declared);
  const bool holds_sequence = HoldsSequence(declared.kind);
  ATTNRUN_ASSIGN_OR_RETURN(
      const auto elements,
      FieldBodies(source.bytes, holds_sequence ? kSequenceField : kTensorField));
  if (elements.empty()) return absl::StatusOr<Tensor>(absl::in_place);
  const TensorSource element = {elements.front(), source.keep_alive, source.external};
  return holds_sequence ? ParseSequence(element, declared) : ParseTensor(element);
}

// Puts the path before a message. kDataLoss, which means that the bytes are not of the expected
// kind, becomes kInvalidArgument.
absl::Status Locate(const absl::Status& status, absl::string_view path, absl::string_view kind) {
  if (status.code() != absl::StatusCode::kDataLoss) return Annotate(status, path);
  return absl::InvalidArgumentError(absl::StrCat(path, " is not ", kind, ": ", status.message()));
}

}  // namespace

absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options) {
  absl::StatusOr<std::shared_ptr<const FileBytes>> file =
      FileBytes::Open(path, options.access, options.limits.file_bytes);
  if (!file.ok()) return Annotate(file.status(), path);
  ExternalData external(path, options.access, options.limits.file_bytes);
  absl::StatusOr<Model> model = Read({(*file)->bytes(), *file, &external}, options);
  if (!model.ok()) return Locate(model.status(), path, "an ONNX model");
  model->files = external.files();
  model->files.insert(model->files.begin(), *file);
  return model;
}

absl::StatusOr<Model> ParseModel(absl::string_view bytes, const LoadOptions& options) {
  absl::StatusOr<Model> model = Read({bytes, nullptr, nullptr}, options);
  if (!model.ok()) return Locate(model.status(), "the model", "an ONNX model");
  return model;
}

absl::StatusOr<Tensor> ReadTensorProto(const std::string& path) {
  return ReadValueProto(path, ValueInfo());
}

absl::StatusOr<Tensor> ReadValueProto(const std::string& path, const ValueInfo& declared) {
  absl::StatusOr<std::shared_ptr<const FileBytes>> file = FileBytes::Open(path);
  if (!file.ok()) return Annotate(file.status(), path);
  ExternalData external(path, FileAccess::kMap);
  const TensorSource source = {(*file)->bytes(), *file, &external};
  absl::Status status = CheckLooksBinary(source.bytes);
  absl::StatusOr<Tensor> value = status.ok() ? ParseValue(source, declared) : status;
  if (value.ok()) return value;
  return Locate(value.status(), path,
                declared.kind == ValueKind::kTensor
                    ? "an ONNX tensor"
                    : absl::StrCat("an ONNX ", Name(declared.kind)));
}

}  // namespace attnrun::loader
