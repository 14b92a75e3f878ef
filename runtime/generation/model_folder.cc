// SPDX-License-Identifier: Apache-2.0
#include "generation/model_folder.h"

#include <array>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/file_bytes.h"
#include "core/path.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

// The text of a configuration; nullopt if there is no such file.
absl::StatusOr<std::optional<std::string>> ReadText(const std::string& path) {
  constexpr int64_t kLargest = int64_t{1} << 26;
  if (!IsFile(path)) return std::nullopt;
  // A stream would take a failed allocation for a file that cannot be read.
  const auto file = FileBytes::Open(path, FileAccess::kRead, kLargest);
  if (!file.ok()) return Annotate(file.status(), path);
  return std::string((*file)->bytes());
}

// Optimum and transformers.js add these to the names of files of lower precision, in the order of
// preference here.
constexpr const char* kSuffixes[] = {"",       "_optimized", "_fp16", "_q4",    "_q4f16",
                                     "_bnb4",  "_quantized", "_int8", "_uint8", "_q2",
                                     "_q2f16", "_q1",        "_q1f16"};

// The first file of `stems` in the folder or its subfolder onnx, by suffix and then by stem.
std::string Find(const std::string& folder, std::initializer_list<absl::string_view> stems) {
  for (const char* suffix : kSuffixes) {
    for (const absl::string_view stem : stems) {
      for (const char* place : {"/", "/onnx/"}) {
        std::string path = absl::StrCat(folder, place, stem, suffix, ".onnx");
        if (IsFile(path)) return path;
      }
    }
  }
  return "";
}

// The only .onnx file of the folder that may be a decoder, if there is one.
std::string FindOnly(const std::string& folder) {
  std::vector<std::string> found;
  for (const std::string& name : NamesIn(folder)) {
    const bool is_other =
        absl::StartsWith(name, "encoder_model") || absl::StartsWith(name, "embed_tokens");
    if (is_other || !absl::EndsWith(name, ".onnx")) continue;
    found.push_back(absl::StrCat(folder, "/", name));
  }
  return found.size() == 1 ? found[0] : "";
}

// The file beside `decoder` whose name has `stem` in place of the decoder's, with the same suffix.
std::string Sibling(const std::string& decoder, absl::string_view stem) {
  absl::string_view name = FileName(decoder);
  for (const absl::string_view own : {"decoder_model_merged", "decoder_model", "model"}) {
    if (!absl::ConsumePrefix(&name, own)) continue;
    std::string path = absl::StrCat(FolderOf(decoder), "/", stem, name);
    return IsFile(path) ? path : "";
  }
  return "";
}

// The file that genai_config.json names: below the folder, or in its subfolder onnx. kNotFound if
// it is missing: another file would be another model.
absl::StatusOr<std::string> FindNamed(const std::string& folder, absl::string_view name) {
  // Names lead to no other folder.
  const bool leads_away = absl::StrContains(name, "..");
  for (const std::string& place : {absl::StrCat("/", leads_away ? FileName(name) : name),
                                   absl::StrCat("/onnx/", FileName(name))}) {
    std::string path = absl::StrCat(folder, place);
    if (IsFile(path)) return path;
  }
  return absl::NotFoundError(absl::StrCat(folder, ": genai_config.json names ", Quoted(name),
                                          ", but there is no such file"));
}

absl::Status FindNamedFiles(const std::string& folder, ModelFiles& files) {
  for (std::string* file : {&files.decoder, &files.encoder, &files.embed_tokens}) {
    if (file->empty()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(*file, FindNamed(folder, *file));
  }
  return absl::OkStatus();
}

// Completes the files that no configuration names. `folder` holds them, or its subfolder does.
void FindFiles(const std::string& folder, ModelFiles& files) {
  if (files.decoder.empty()) {
    files.decoder = Find(folder, {"decoder_model_merged", "model", "decoder_model"});
  }
  for (const char* place : {"", "/onnx"}) {
    if (files.decoder.empty()) files.decoder = FindOnly(absl::StrCat(folder, place));
  }
  if (files.decoder.empty()) return;
  const auto complete = [&](std::string& file, absl::string_view stem) {
    if (file.empty()) file = Sibling(files.decoder, stem);
    if (file.empty()) file = Find(folder, {stem});
  };
  complete(files.encoder, "encoder_model");
  complete(files.embed_tokens, "embed_tokens");
  const absl::string_view name = FileName(files.decoder);
  if (absl::StartsWith(name, "decoder_model") && !absl::StartsWith(name, "decoder_model_merged")) {
    files.decoder_with_past = Sibling(files.decoder, "decoder_with_past_model");
  }
}

// Reads the configurations of a folder. generation_config.json has the last word.
absl::Status ReadConfigs(const std::string& folder, ModelFolder& model) {
  const auto path = [&](const char* name) { return absl::StrCat(folder, "/", name); };
  const auto read = [&](const char* name, auto use) -> absl::Status {
    ATTNRUN_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadText(path(name)));
    if (!text.has_value()) return absl::OkStatus();
    return Annotate(use(*text), path(name));
  };
  ATTNRUN_RETURN_IF_ERROR(read(
      "genai_config.json", [&](const std::string& text) { return ReadGenaiConfig(text, model); }));
  const bool only = !IsFile(path("generation_config.json"));
  ATTNRUN_RETURN_IF_ERROR(read(
      "config.json", [&](const std::string& text) { return ReadModelConfig(text, only, model); }));
  return read("generation_config.json", [&](const std::string& text) {
    return UpdateGenerationConfig(text, /*strict=*/false, model.config);
  });
}

bool HasConfig(const std::string& folder) {
  return absl::c_any_of(std::array{"genai_config.json", "config.json", "generation_config.json"},
                        [&](const char* name) { return IsFile(absl::StrCat(folder, "/", name)); });
}

}  // namespace

absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& path) {
  ModelFolder model;
  const bool is_folder = IsFolder(path);
  const std::string absolute = AbsolutePath(path);
  std::string folder = is_folder ? path : std::string(FolderOf(absolute));
  // The configuration lies beside the subfolder onnx.
  const absl::string_view inner = is_folder ? absl::string_view(absolute) : FolderOf(absolute);
  if (FileName(inner) == "onnx" && !HasConfig(folder)) folder = std::string(FolderOf(inner));
  ATTNRUN_RETURN_IF_ERROR(ReadConfigs(folder, model));
  if (!is_folder) model.files.decoder.clear();
  ATTNRUN_RETURN_IF_ERROR(FindNamedFiles(folder, model.files));
  if (!is_folder) model.files.decoder = absolute;
  FindFiles(folder, model.files);
  if (model.files.decoder.empty()) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": expected model.onnx, decoder_model.onnx or decoder_model_merged.onnx in the folder "
        "or its subfolder onnx, or a genai_config.json that names a file, but found none"));
  }
  return model;
}

}  // namespace attnrun::gen
