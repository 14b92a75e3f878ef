// SPDX-License-Identifier: Apache-2.0
#include "ops/search/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

// IEEE 754 numbers are ordered like their bits, except for negative ones, whose order is reversed.
int64_t KeyOf(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::max();
  // Adding 0.0 turns -0 into 0.
  const auto bits = std::bit_cast<int64_t>(value + 0.0);
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}

absl::StatusOr<std::vector<int64_t>> StringKeys(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> strings, ToStrings(tensor));
  std::vector<std::string> sorted = strings;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> keys;
  for (const std::string& text : strings) {
    keys.push_back(std::lower_bound(sorted.begin(), sorted.end(), text) - sorted.begin());
  }
  return keys;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> OrderKeys(const Tensor& tensor) {
  if (tensor.type() == DataType::kString) return StringKeys(tensor);
  std::vector<int64_t> keys;
  if (IsFloatingPoint(tensor.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    for (const double value : values) keys.push_back(KeyOf(value));
    return keys;
  }
  ATTNRUN_ASSIGN_OR_RETURN(keys, ToInts(tensor));
  if (tensor.type() == DataType::kUint64) {
    // With the sign bit flipped, signed integers compare like the unsigned ones.
    for (int64_t& key : keys) key ^= std::numeric_limits<int64_t>::min();
  }
  return keys;
}

}  // namespace attnrun::ops
