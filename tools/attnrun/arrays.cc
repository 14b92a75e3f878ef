// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/arrays.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "attnrun/session.h"
#include "core/status.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/npz.h"
#include "tools/attnrun/parts.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

namespace fs = std::filesystem;

absl::string_view Noun(Role role) { return role == Role::kInput ? "input" : "output"; }

absl::StatusOr<Place> Find(const std::string& name, Role role,
                           const std::vector<ValueInfo>& declared) {
  if (const std::optional<Place> place = PlaceOf(name, declared)) return *place;
  std::vector<std::string> names;
  for (const ValueInfo& info : declared) {
    names.push_back(absl::StrCat("'", Printable(info.name), "'"));
  }
  return absl::InvalidArgumentError(absl::StrCat("the model has no ", Noun(role), " '",
                                                 Printable(name), "'; its ", Noun(role), "s are ",
                                                 absl::StrJoin(names, ", ")));
}

absl::StatusOr<TensorMap> ReadArchive(const std::string& path, Role role,
                                      const std::vector<ValueInfo>& declared) {
  ATTNRUN_ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(path));
  // Checks names first, so that nothing is decompressed for a model that has no use for it.
  for (const auto& [name, index] : file.entries()) {
    ATTNRUN_RETURN_IF_ERROR(Annotate(Find(name, role, declared).status(), path));
  }
  Parts parts;
  for (const auto& [name, index] : file.entries()) {
    ATTNRUN_ASSIGN_OR_RETURN(const Place place, Find(name, role, declared));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor tensor, file.Read(name));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor array, AsDeclared(tensor, place.info->type));
    ATTNRUN_RETURN_IF_ERROR(Annotate(parts.Add(place, std::move(array)), path));
  }
  TensorMap values;
  ATTNRUN_RETURN_IF_ERROR(Annotate(std::move(parts).AddTo(values), path));
  return values;
}

// The files input_<k>.pb or output_<k>.pb by number k.
absl::StatusOr<std::map<size_t, std::string>> ListTestData(const std::string& folder, Role role) {
  const fs::path nested = fs::path(folder) / "test_data_set_0";
  std::error_code error;
  const fs::path where = fs::is_directory(nested, error) ? nested : fs::path(folder);
  std::map<size_t, std::string> files;
  for (fs::directory_iterator it(where, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view number = name;
    size_t k = 0;
    if (absl::ConsumePrefix(&number, absl::StrCat(Noun(role), "_")) &&
        absl::ConsumeSuffix(&number, ".pb") && absl::SimpleAtoi(number, &k)) {
      files[k] = it->path().string();
    }
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(folder, ": cannot be read"));
  if (!files.empty()) return files;
  return absl::InvalidArgumentError(
      absl::StrCat(folder, ": expected an ONNX test data set, but found no ", Noun(role), "_0.pb"));
}

absl::StatusOr<Tensor> ReadFile(const std::string& file, const Place& place) {
  if (absl::EndsWith(file, ".pb")) {
    return place.index == Place::kWhole ? LoadValueProto(file, *place.info) : LoadTensorProto(file);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor tensor, ReadNpyFile(file));
  return AsDeclared(tensor, place.info->type);
}

// The inputs or outputs that the files number. Models of old IR versions list initializers as
// inputs too, and their test data leave those out.
std::vector<const ValueInfo*> Numbered(const std::vector<ValueInfo>& declared, size_t files) {
  std::vector<const ValueInfo*> all;
  std::vector<const ValueInfo*> required;
  for (const ValueInfo& info : declared) {
    all.push_back(&info);
    if (!info.has_default) required.push_back(&info);
  }
  return files == required.size() ? required : all;
}

absl::StatusOr<TensorMap> ReadTestData(const std::string& folder, Role role,
                                       const std::vector<ValueInfo>& declared) {
  ATTNRUN_ASSIGN_OR_RETURN(const auto files, ListTestData(folder, role));
  const std::vector<const ValueInfo*> numbered = Numbered(declared, files.size());
  TensorMap arrays;
  for (const auto& [k, file] : files) {
    if (k >= numbered.size()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": expected at most ", numbered.size(),
                                                     " ", Noun(role),
                                                     "s, since the model has no more"));
    }
    ATTNRUN_ASSIGN_OR_RETURN(arrays[numbered[k]->name], LoadValueProto(file, *numbered[k]));
  }
  return arrays;
}

}  // namespace

absl::Status ReadFiles(const std::map<std::string, std::string>& files, Role role,
                       const std::vector<ValueInfo>& declared, TensorMap& values) {
  Parts parts;
  for (const auto& [name, file] : files) {
    ATTNRUN_ASSIGN_OR_RETURN(const Place place, Find(name, role, declared));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor array, ReadFile(file, place));
    ATTNRUN_RETURN_IF_ERROR(Annotate(parts.Add(place, std::move(array)), file));
  }
  return std::move(parts).AddTo(values);
}

absl::StatusOr<TensorMap> ReadArrays(const std::string& path, Role role,
                                     const std::vector<ValueInfo>& declared) {
  std::error_code error;
  return fs::is_directory(path, error) ? ReadTestData(path, role, declared)
                                       : ReadArchive(path, role, declared);
}

}  // namespace attnrun::cli
