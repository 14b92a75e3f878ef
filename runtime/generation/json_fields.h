// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_JSON_FIELDS_H_
#define ATTNRUN_GENERATION_JSON_FIELDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attnrun/generation_config.h"
#include "generation/json.h"

// Readers of JSON values. Each returns kInvalidArgument, with what was expected and found, for a
// value of another form.
namespace attnrun::gen {

absl::Status Read(const Json& json, bool& value);
absl::Status Read(const Json& json, int64_t& value);
absl::Status Read(const Json& json, uint64_t& value);
absl::Status Read(const Json& json, double& value);
absl::Status Read(const Json& json, std::string& value);
// A list, or one id.
absl::Status Read(const Json& json, TokenIds& ids);
absl::Status Read(const Json& json, std::vector<TokenIds>& lists);
// [start, factor].
absl::Status Read(const Json& json, std::pair<int64_t, double>& pair);
// [position, id or null], and a list of these.
absl::Status Read(const Json& json, std::pair<int64_t, std::optional<int64_t>>& pair);
absl::Status Read(const Json& json, std::vector<std::pair<int64_t, std::optional<int64_t>>>& pairs);
// [ids, bias], and a list of these.
absl::Status Read(const Json& json, std::pair<TokenIds, double>& bias);
absl::Status Read(const Json& json, std::vector<std::pair<TokenIds, double>>& biases);
absl::Status Read(const Json& json, EarlyStopping& value);
// An object of ids.
absl::Status Read(const Json& json, std::map<std::string, int64_t>& ids);

// null leaves it as it is.
template <typename T>
absl::Status Read(const Json& json, std::optional<T>& value) {
  if (json.is_null()) return absl::OkStatus();
  T read{};
  absl::Status status = Read(json, read);
  if (status.ok()) value = std::move(read);
  return status;
}

// Reads the field `name` if it is there and not null. Errors name the field.
template <typename T>
absl::Status ReadField(const Json& json, absl::string_view name, T& value) {
  const Json& field = Field(json, name);
  if (field.is_null()) return absl::OkStatus();
  const absl::Status status = Read(field, value);
  if (status.ok()) return status;
  return absl::Status(status.code(), std::string(name) + ": " + std::string(status.message()));
}

// As attnrun::UpdateGenerationConfig, from what was read.
absl::Status UpdateGenerationConfig(const Json& object, bool strict, GenerationConfig& config);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_JSON_FIELDS_H_
