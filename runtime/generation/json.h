// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_JSON_H_
#define ATTNRUN_GENERATION_JSON_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attnrun::gen {

// A JSON value. nlohmann's own allocates in its destructor, which ends the process when memory has
// run out, so it is used for reading and writing alone.
struct Json {
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  // Null if not of this type. An integer is an int64_t if it is negative, otherwise a uint64_t.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
  bool is_null() const { return As<std::nullptr_t>() != nullptr; }
  // nullopt if it is none.
  std::optional<double> Number() const;

  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value =
      nullptr;
};

// The object that `text` is. The last of several fields of one name counts; Python's NaN is null,
// and its Infinity a number. kInvalidArgument if it is no JSON, with the line, no object, or nested
// deeper than any configuration.
absl::StatusOr<Json> ParseObject(absl::string_view text);

// Its JSON text, on one line. Bytes that are no UTF-8 are replaced.
std::string ToText(const Json& json);

// The value under `name`; null if `json` is no object or has none.
const Json& Field(const Json& json, absl::string_view name);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_JSON_H_
