// SPDX-License-Identifier: Apache-2.0
#include "generation/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/file_bytes.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

namespace fs = std::filesystem;

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The text of a configuration; nullopt if there is no such file.
absl::StatusOr<std::optional<std::string>> ReadText(const fs::path& path) {
  constexpr int64_t kLargest = int64_t{1} << 26;
  if (!IsFile(path)) return std::nullopt;
  // A stream would take a failed allocation for a file that cannot be read.
  const auto file = FileBytes::Open(path.string(), FileAccess::kRead, kLargest);
  if (!file.ok()) return Annotate(file.status(), path.string());
  return std::string((*file)->bytes());
}

// Optimum and transformers.js add these to the names of files of lower precision, in the order of
// preference here.
constexpr const char* kSuffixes[] = {"",      "_fp16",      "_q4",   "_q4f16",
                                     "_bnb4", "_quantized", "_int8", "_uint8"};

// The first file of `stems` in the folder or its subfolder onnx, by suffix and then by stem. Paths are
// joined as text, since the library's paths are broken by a part for which there is no memory.
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

// The only .onnx file of the folder, if there is one.
fs::path FindOnly(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx") found.push_back(entry.path());
  }
  return found.size() == 1 ? found[0] : fs::path();
}

// The file beside `decoder` whose name has `stem` in place of the decoder's, with the same suffix.
fs::path Sibling(const fs::path& decoder, absl::string_view stem) {
  std::string name = decoder.filename().string();
  for (const absl::string_view own : {"decoder_model_merged", "decoder_model", "model"}) {
    if (!absl::StartsWith(name, own)) continue;
    fs::path path = decoder.parent_path() / absl::StrCat(stem, name.substr(own.size()));
    return IsFile(path) ? path : fs::path();
  }
  return {};
}

// Completes the files that no configuration names. `folder` holds them, or its subfolder does.
void FindFiles(const fs::path& folder, ModelFiles& files) {
  for (std::string* file : {&files.decoder, &files.encoder, &files.embed_tokens}) {
    if (file->empty() || fs::path(*file).is_absolute()) continue;
    // Names lead to files of the folder alone.
    const fs::path inside = folder / fs::path(*file).filename();
    *file = IsFile(inside) ? inside.string() : "";
  }
  if (files.decoder.empty()) {
    files.decoder = Find(folder.string(), {"decoder_model_merged", "model", "decoder_model"});
  }
  if (files.decoder.empty()) files.decoder = FindOnly(folder).string();
  if (files.decoder.empty()) return;
  const auto complete = [&](std::string& file, absl::string_view stem) {
    if (file.empty()) file = Sibling(files.decoder, stem).string();
    if (file.empty()) file = Find(folder.string(), {stem});
  };
  complete(files.encoder, "encoder_model");
  complete(files.embed_tokens, "embed_tokens");
  const std::string name = fs::path(files.decoder).filename().string();
  if (absl::StartsWith(name, "decoder_model") && !absl::StartsWith(name, "decoder_model_merged")) {
    files.decoder_with_past = Sibling(files.decoder, "decoder_with_past_model").string();
  }
}

// Reads the configurations of a folder. generation_config.json has the last word.
absl::Status ReadConfigs(const fs::path& folder, ModelFolder& model) {
  const auto read = [&](const char* name, auto use) -> absl::Status {
    ATTNRUN_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadText(folder / name));
    if (!text.has_value()) return absl::OkStatus();
    return Annotate(use(*text), (folder / name).string());
  };
  ATTNRUN_RETURN_IF_ERROR(read(
      "genai_config.json", [&](const std::string& text) { return ReadGenaiConfig(text, model); }));
  const bool only = !IsFile(folder / "generation_config.json");
  ATTNRUN_RETURN_IF_ERROR(read(
      "config.json", [&](const std::string& text) { return ReadModelConfig(text, only, model); }));
  return read("generation_config.json", [&](const std::string& text) {
    return UpdateGenerationConfig(text, /*strict=*/false, model.config);
  });
}

}  // namespace

absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& path) {
  ModelFolder model;
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  fs::path folder = is_folder ? fs::path(path) : fs::absolute(path).parent_path();
  if (!is_folder && folder.filename() == "onnx") folder = folder.parent_path();
  ATTNRUN_RETURN_IF_ERROR(ReadConfigs(folder, model));
  if (!is_folder) model.files.decoder = fs::absolute(path).string();
  FindFiles(folder, model.files);
  if (model.files.decoder.empty()) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": expected model.onnx, decoder_model.onnx or decoder_model_merged.onnx in the folder "
        "or its subfolder onnx, or the file that genai_config.json names, but found none"));
  }
  return model;
}

}  // namespace attnrun::gen
