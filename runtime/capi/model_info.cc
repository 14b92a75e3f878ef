// SPDX-License-Identifier: Apache-2.0
#include "model_info.h"

#include "attnrun/session.h"
#include "core/status.h"
#include "status.h"

namespace {

std::vector<attnrun_value_info> Wrapped(const std::vector<attnrun::ValueInfo>& declared) {
  std::vector<attnrun_value_info> wrapped;
  for (const attnrun::ValueInfo& info : declared) wrapped.push_back({info});
  return wrapped;
}

template <typename T>
const T* At(const std::vector<T>& list, size_t index) {
  return index < list.size() ? &list[index] : nullptr;
}

const attnrun::Dim* DimAt(const attnrun_value_info* info, int32_t axis) {
  if (axis < 0 || axis >= attnrun_value_info_rank(info)) return nullptr;
  return &(*info->info.shape)[axis];
}

}  // namespace

attnrun_model_info::attnrun_model_info(const std::vector<attnrun::ValueInfo>& declared_inputs,
                                       const std::vector<attnrun::ValueInfo>& declared_outputs,
                                       const std::map<std::string, std::string>& notes)
    : inputs(Wrapped(declared_inputs)),
      outputs(Wrapped(declared_outputs)),
      metadata(notes.begin(), notes.end()) {}

const char* attnrun_value_info_name(const attnrun_value_info* info) {
  return info->info.name.c_str();
}

attnrun_type attnrun_value_info_type(const attnrun_value_info* info) {
  return static_cast<attnrun_type>(info->info.type);
}

attnrun_kind attnrun_value_info_kind(const attnrun_value_info* info) {
  return static_cast<attnrun_kind>(info->info.kind);
}

int attnrun_value_info_has_default(const attnrun_value_info* info) {
  return info->info.has_default ? 1 : 0;
}

int32_t attnrun_value_info_rank(const attnrun_value_info* info) {
  const auto& shape = info->info.shape;
  return shape.has_value() ? static_cast<int32_t>(shape->size()) : -1;
}

int64_t attnrun_value_info_dim(const attnrun_value_info* info, int32_t axis) {
  const attnrun::Dim* const dim = DimAt(info, axis);
  return dim == nullptr ? -1 : dim->value;
}

const char* attnrun_value_info_dim_name(const attnrun_value_info* info, int32_t axis) {
  const attnrun::Dim* const dim = DimAt(info, axis);
  return dim == nullptr ? "" : dim->symbol.c_str();
}

attnrun_status* attnrun_model_info_load(const char* path, attnrun_model_info** info) {
  return attnrun::capi::Guarded([&]() -> absl::Status {
    if (path == nullptr) return attnrun::capi::IsNull("path");
    if (info == nullptr) return attnrun::capi::IsNull("info");
    ATTNRUN_ASSIGN_OR_RETURN(const attnrun::ModelInfo model, attnrun::InspectModel(path));
    *info = new attnrun_model_info(model.inputs, model.outputs, model.metadata);
    return absl::OkStatus();
  });
}

void attnrun_model_info_free(attnrun_model_info* info) { delete info; }

size_t attnrun_model_info_input_count(const attnrun_model_info* info) {
  return info->inputs.size();
}

const attnrun_value_info* attnrun_model_info_input(const attnrun_model_info* info, size_t index) {
  return At(info->inputs, index);
}

size_t attnrun_model_info_output_count(const attnrun_model_info* info) {
  return info->outputs.size();
}

const attnrun_value_info* attnrun_model_info_output(const attnrun_model_info* info, size_t index) {
  return At(info->outputs, index);
}

size_t attnrun_model_info_metadata_count(const attnrun_model_info* info) {
  return info->metadata.size();
}

const char* attnrun_model_info_metadata_key(const attnrun_model_info* info, size_t index) {
  const auto* const entry = At(info->metadata, index);
  return entry == nullptr ? nullptr : entry->first.c_str();
}

const char* attnrun_model_info_metadata_value(const attnrun_model_info* info, size_t index) {
  const auto* const entry = At(info->metadata, index);
  return entry == nullptr ? nullptr : entry->second.c_str();
}
