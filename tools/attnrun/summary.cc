// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/numbers.h"

namespace attnrun::cli {
namespace {

// Tensors of up to this size are shown element by element.
constexpr int64_t kFew = 6;

// An element as JSON, as an integer if the type is one.
Json ToJson(double element, DataType type) {
  constexpr double kExact = 9007199254740992.0;
  const bool whole = (IsInteger(type) || type == DataType::kBool) && std::abs(element) <= kExact;
  return whole ? Json(static_cast<int64_t>(element)) : Json(element);
}

void Add(Summary& summary, double number) {
  if (std::isnan(number)) {
    ++summary.nan;
  } else if (std::isinf(number)) {
    ++summary.inf;
  } else {
    summary.min = summary.finite == 0 ? number : std::min(summary.min, number);
    summary.max = summary.finite == 0 ? number : std::max(summary.max, number);
    ++summary.finite;
    // A running mean, because a sum of large elements could overflow.
    summary.mean += (number - summary.mean) / static_cast<double>(summary.finite);
  }
}

}  // namespace

absl::StatusOr<Summary> Summarize(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> pieces, Pieces(dense));
  Summary summary;
  for (const Tensor& piece : pieces) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(piece));
    for (const double number : numbers) Add(summary, number);
  }
  return summary;
}

absl::StatusOr<std::string> SummaryText(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return "empty";
  if (tensor.num_elements() <= kFew) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ElementTexts(tensor));
    return absl::StrJoin(texts, " ");
  }
  if (tensor.type() == DataType::kString) return absl::StrCat(tensor.num_elements(), " strings");
  ATTNRUN_ASSIGN_OR_RETURN(const Summary summary, Summarize(tensor));
  std::string text;
  if (summary.finite > 0) {
    text = absl::StrCat("min ", Figure(summary.min), "  max ", Figure(summary.max), "  mean ",
                        Figure(summary.mean));
  }
  if (summary.nan > 0) absl::StrAppend(&text, text.empty() ? "" : "  ", summary.nan, " nan");
  if (summary.inf > 0) absl::StrAppend(&text, text.empty() ? "" : "  ", summary.inf, " inf");
  return text;
}

absl::StatusOr<Json> SummaryJson(const std::string& name, const Tensor& tensor) {
  Json json = {{"name", name},
               {"type", std::string(Name(tensor.type()))},
               {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())}};
  if (tensor.type() == DataType::kString) return json;
  ATTNRUN_ASSIGN_OR_RETURN(const Summary summary, Summarize(tensor));
  const bool any = summary.finite > 0;
  json["min"] = any ? ToJson(summary.min, tensor.type()) : Json();
  json["max"] = any ? ToJson(summary.max, tensor.type()) : Json();
  json["mean"] = any ? Json(summary.mean) : Json();
  json["nan"] = summary.nan;
  json["inf"] = summary.inf;
  return json;
}

}  // namespace attnrun::cli
