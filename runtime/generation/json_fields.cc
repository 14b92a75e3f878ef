// SPDX-License-Identifier: Apache-2.0
#include "generation/json_fields.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

absl::Status Expected(absl::string_view form, const Json& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", form, ", but found ", Shortened(ToText(found), 60)));
}

template <typename T>
absl::Status ReadAs(const Json& json, absl::string_view form, T& value) {
  const T* const found = json.As<T>();
  if (found == nullptr) return Expected(form, json);
  value = *found;
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadList(const Json& json, absl::string_view form, std::vector<T>& list) {
  const auto* const array = json.As<Json::Array>();
  if (array == nullptr) return Expected(form, json);
  std::vector<T> read(array->size());
  for (size_t i = 0; i < read.size(); ++i) ATTNRUN_RETURN_IF_ERROR(Read((*array)[i], read[i]));
  list = std::move(read);
  return absl::OkStatus();
}

template <typename A, typename B>
absl::Status ReadPair(const Json& json, absl::string_view form, std::pair<A, B>& pair) {
  const auto* const array = json.As<Json::Array>();
  if (array == nullptr || array->size() != 2) return Expected(form, json);
  ATTNRUN_RETURN_IF_ERROR(Read(array->front(), pair.first));
  return Read(array->back(), pair.second);
}

}  // namespace

absl::Status Read(const Json& json, bool& value) { return ReadAs(json, "true or false", value); }

absl::Status Read(const Json& json, int64_t& value) {
  // Bounds that leave room for sums.
  constexpr double kLargest = 1LL << 52;
  const std::optional<double> number = json.Number();
  if (!number.has_value() || std::abs(*number) > kLargest || *number != std::floor(*number)) {
    return Expected("an integer", json);
  }
  value = static_cast<int64_t>(*number);
  return absl::OkStatus();
}

absl::Status Read(const Json& json, uint64_t& value) {
  return ReadAs(json, "an integer of at least 0", value);
}

absl::Status Read(const Json& json, double& value) {
  const std::optional<double> number = json.Number();
  if (!number.has_value()) return Expected("a number", json);
  value = *number;
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::string& value) { return ReadAs(json, "a text", value); }

absl::Status Read(const Json& json, TokenIds& ids) {
  if (!json.Number().has_value()) return ReadList(json, "an id or a list of ids", ids);
  int64_t id = 0;
  ATTNRUN_RETURN_IF_ERROR(Read(json, id));
  ids = {id};
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::vector<TokenIds>& lists) {
  return ReadList(json, "a list of lists of ids", lists);
}

absl::Status Read(const Json& json, std::pair<int64_t, double>& pair) {
  return ReadPair(json, "a pair of an integer and a number", pair);
}

absl::Status Read(const Json& json, std::pair<int64_t, std::optional<int64_t>>& pair) {
  return ReadPair(json, "a pair of a position and an id", pair);
}

absl::Status Read(const Json& json,
                  std::vector<std::pair<int64_t, std::optional<int64_t>>>& pairs) {
  return ReadList(json, "a list of pairs of a position and an id", pairs);
}

absl::Status Read(const Json& json, std::map<std::string, int64_t>& ids) {
  const auto* const object = json.As<Json::Object>();
  if (object == nullptr) return Expected("an object of ids", json);
  std::map<std::string, int64_t> read;
  for (const auto& [name, id] : *object) {
    ATTNRUN_RETURN_IF_ERROR(Annotate(Read(id, read[name]), name));
  }
  ids = std::move(read);
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::pair<TokenIds, double>& bias) {
  return ReadPair(json, "a pair of ids and a number", bias);
}

absl::Status Read(const Json& json, std::vector<std::pair<TokenIds, double>>& biases) {
  return ReadList(json, "a list of pairs of ids and a number", biases);
}

absl::Status Read(const Json& json, EarlyStopping& value) {
  const auto* const text = json.As<std::string>();
  const auto* const at_once = json.As<bool>();
  if (text != nullptr && *text == "never") {
    value = EarlyStopping::kNever;
  } else if (at_once != nullptr) {
    value = *at_once ? EarlyStopping::kAtOnce : EarlyStopping::kHeuristic;
  } else {
    return Expected("true, false or \"never\"", json);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::gen
