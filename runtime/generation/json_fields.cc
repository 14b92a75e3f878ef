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
  const std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", form, ", but found ", Shortened(text, 60)));
}

template <typename T>
absl::Status ReadList(const Json& json, absl::string_view form, std::vector<T>& list) {
  if (!json.is_array()) return Expected(form, json);
  std::vector<T> read(json.size());
  for (size_t i = 0; i < json.size(); ++i) ATTNRUN_RETURN_IF_ERROR(Read(json[i], read[i]));
  list = std::move(read);
  return absl::OkStatus();
}

template <typename A, typename B>
absl::Status ReadPair(const Json& json, absl::string_view form, std::pair<A, B>& pair) {
  if (!json.is_array() || json.size() != 2) return Expected(form, json);
  ATTNRUN_RETURN_IF_ERROR(Read(json[0], pair.first));
  return Read(json[1], pair.second);
}

}  // namespace

absl::StatusOr<Json> ParseObject(absl::string_view text) {
  // Texts nested deeper than any configuration would exhaust the stack.
  constexpr int kDeepest = 64;
  bool too_deep = false;
  const Json::parser_callback_t check = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), check, /*allow_exceptions=*/false);
  if (too_deep || !json.is_object()) return absl::InvalidArgumentError("expected a JSON object");
  return json;
}

absl::Status Read(const Json& json, bool& value) {
  if (!json.is_boolean()) return Expected("true or false", json);
  value = json.get<bool>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, int64_t& value) {
  // Bounds that leave room for sums.
  constexpr double kLargest = 1LL << 52;
  if (!json.is_number() || std::abs(json.get<double>()) > kLargest ||
      json.get<double>() != std::floor(json.get<double>())) {
    return Expected("an integer", json);
  }
  value = json.get<int64_t>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, uint64_t& value) {
  if (!json.is_number_unsigned()) return Expected("an integer of at least 0", json);
  value = json.get<uint64_t>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, double& value) {
  if (!json.is_number()) return Expected("a number", json);
  value = json.get<double>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::string& value) {
  if (!json.is_string()) return Expected("a text", json);
  value = json.get<std::string>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, TokenIds& ids) {
  if (!json.is_number()) return ReadList(json, "an id or a list of ids", ids);
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

absl::Status Read(const Json& json, std::pair<int64_t, int64_t>& pair) {
  return ReadPair(json, "a pair of a position and an id", pair);
}

absl::Status Read(const Json& json, std::vector<std::pair<int64_t, int64_t>>& pairs) {
  // Whisper's multilingual models have [1, null]: the position is free. Nothing after it is forced.
  if (!json.is_array()) return Expected("a list of pairs", json);
  pairs.clear();
  for (const Json& item : json) {
    if (item.is_array() && item.size() == 2 && item[1].is_null()) break;
    ATTNRUN_RETURN_IF_ERROR(Read(item, pairs.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::vector<std::pair<TokenIds, double>>& biases) {
  if (!json.is_array()) return Expected("a list of pairs of ids and a number", json);
  std::vector<std::pair<TokenIds, double>> read(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    ATTNRUN_RETURN_IF_ERROR(ReadPair(json[i], "a pair of ids and a number", read[i]));
  }
  biases = std::move(read);
  return absl::OkStatus();
}

absl::Status Read(const Json& json, EarlyStopping& value) {
  if (json == "never") {
    value = EarlyStopping::kNever;
  } else if (json.is_boolean()) {
    value = json.get<bool>() ? EarlyStopping::kAtOnce : EarlyStopping::kHeuristic;
  } else {
    return Expected("true, false or \"never\"", json);
  }
  return absl::OkStatus();
}

const Json& Field(const Json& json, absl::string_view name) {
  static const Json& none = *new Json();
  if (!json.is_object()) return none;
  const auto found = json.find(std::string(name));
  return found == json.end() ? none : *found;
}

}  // namespace attnrun::gen
