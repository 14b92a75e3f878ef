// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/dim_sizes.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kMapSide = 64;

bool Mentions(absl::string_view name, std::initializer_list<absl::string_view> words) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const absl::string_view word : words) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

absl::Span<const Dim> Dims(const ValueInfo& info) {
  if (!info.shape.has_value()) return {};
  return *info.shape;
}

bool IsSum(absl::string_view symbol) { return absl::StrContains(symbol, "+"); }
bool IsBatch(absl::string_view symbol) { return Mentions(symbol, {"batch"}); }
bool IsTotal(absl::string_view symbol) { return IsSum(symbol) || Mentions(symbol, {"total"}); }
bool IsPast(absl::string_view symbol) { return !IsTotal(symbol) && Mentions(symbol, {"past"}); }

// An input of batch x channels x height x width.
bool IsImage(const ValueInfo& info) {
  const bool pixels = IsFloatingPoint(info.type) || info.type == DataType::kUint8;
  return pixels && Dims(info).size() == 4 && !Mentions(info.name, {"mask", "bias"});
}

// A cache, which may be empty; not what a model of time series has observed.
bool IsCache(const ValueInfo& info) {
  return Mentions(info.name, {"past"}) &&
         !Mentions(info.name, {"past_values", "past_time", "past_observed"});
}

// The name of an axis that has no fixed extent.
std::string AxisName(const ValueInfo& info, int axis) {
  const std::string& symbol = Dims(info)[axis].symbol;
  return symbol.empty() ? absl::StrCat(info.name, "[", axis, "]") : symbol;
}

}  // namespace

absl::Status DimSizes::Set(const std::string& symbol, int64_t extent) {
  std::set<std::string> known;
  for (const ValueInfo& input : inputs_) {
    for (size_t axis = 0; axis < Dims(input).size(); ++axis) {
      if (Dims(input)[axis].is_fixed()) continue;
      known.insert(Printable(AxisName(input, static_cast<int>(axis))));
    }
  }
  if (known.count(Printable(symbol)) > 0) {
    extents_[symbol] = extent;
    set_.insert(symbol);
    fixed_.insert(symbol);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no input has a dimension named '", Printable(symbol), "'; ",
      known.empty() ? "all extents are fixed"
                    : absl::StrCat("the dimensions are ", absl::StrJoin(known, ", "))));
}

absl::Status DimSizes::Bind(const ValueInfo& info, const Tensor& tensor) {
  // If the rank is wrong, the session refuses the input.
  if (static_cast<int>(Dims(info).size()) != tensor.rank()) return absl::OkStatus();
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (Dims(info)[axis].is_fixed()) continue;
    const std::string symbol = AxisName(info, axis);
    fixed_.insert(symbol);
    const int64_t expected = extents_.emplace(symbol, tensor.dim(axis)).first->second;
    if (expected == tensor.dim(axis) || set_.count(symbol) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", Printable(info.name), "': expected ", expected, " for dimension '",
        Printable(symbol), "', as the command line sets it, but found ", tensor.dim(axis)));
  }
  return absl::OkStatus();
}

int64_t DimSizes::Extent(const ValueInfo& info, int axis) {
  const Dim& dim = Dims(info)[axis];
  if (dim.is_fixed()) return dim.value;
  return OfSymbol(AxisName(info, axis), info, axis);
}

bool DimSizes::IsFixed(const ValueInfo& info, int axis) const {
  return Dims(info)[axis].is_fixed() || fixed_.count(AxisName(info, axis)) > 0;
}

void DimSizes::Fit(const ValueInfo& info, const Shape& shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int i = static_cast<int>(axis);
    if (!IsFixed(info, i)) extents_[AxisName(info, i)] = shape[axis];
  }
}

int64_t DimSizes::PastLength() { return OfFirst(IsPast).value_or(0); }

int64_t DimSizes::OfSymbol(const std::string& symbol, const ValueInfo& info, int axis) {
  const auto found = extents_.find(symbol);
  if (found != extents_.end()) return found->second;
  const bool has_name = !Dims(info)[axis].symbol.empty();
  const int64_t extent = has_name ? ByName(symbol, info, axis) : ByPlace(info, axis);
  extents_[symbol] = extent;
  return extent;
}

int64_t DimSizes::ByName(const std::string& symbol, const ValueInfo& info, int axis) {
  if (IsSum(symbol)) return OfSum(symbol);
  if (IsBatch(symbol)) return defaults_.batch;
  if (IsTotal(symbol)) {
    const auto is_sequence = [](absl::string_view name) {
      return !IsTotal(name) && !IsBatch(name) && !IsPast(name);
    };
    return PastLength() + OfFirst(is_sequence).value_or(defaults_.sequence);
  }
  if (IsPast(symbol)) return 0;
  if (Mentions(symbol, {"channel"})) return kChannels;
  if (Mentions(symbol, {"height", "width"})) return SideOf(info);
  return ByPlace(info, axis);
}

// The default by position, for dimensions whose names say nothing.
int64_t DimSizes::ByPlace(const ValueInfo& info, int axis) const {
  if (axis == 0) return defaults_.batch;
  const bool last = axis + 1 == static_cast<int>(Dims(info).size());
  if (last && Mentions(info.name, {"input_values", "audio", "waveform"})) return defaults_.samples;
  if (last && axis == 2 && Mentions(info.name, {"input_features"})) return defaults_.frames;
  if (IsCache(info)) return 0;
  // The state of a recurrent layer: directions, batch, units.
  if (axis == 1 && !last && Mentions(info.name, {"state", "hidden"})) return defaults_.batch;
  if (IsImage(info)) return axis == 1 ? kChannels : SideOf(info);
  return defaults_.sequence;
}

// A decoder makes a picture eight times as large of a latent: 224 would take gigabytes.
int64_t DimSizes::SideOf(const ValueInfo& image) const {
  const int64_t channels = IsImage(image) ? Dims(image)[1].value : 0;
  return channels > kChannels ? std::min(defaults_.image_side, kMapSide) : defaults_.image_side;
}

int64_t DimSizes::OfSum(const std::string& symbol) {
  int64_t sum = 0;
  for (const absl::string_view part : absl::StrSplit(symbol, '+')) {
    const absl::string_view term = absl::StripAsciiWhitespace(part);
    int32_t number = 0;
    if (absl::SimpleAtoi(term, &number)) {
      sum += number;
    } else {
      sum += OfFirst([term](absl::string_view name) {
               return name == term;
             }).value_or(IsPast(term) ? 0 : defaults_.sequence);
    }
  }
  return std::max<int64_t>(sum, 0);
}

template <typename Test>
std::optional<int64_t> DimSizes::OfFirst(Test test) {
  for (const ValueInfo& input : inputs_) {
    for (size_t axis = 0; axis < Dims(input).size(); ++axis) {
      const std::string& symbol = Dims(input)[axis].symbol;
      if (!symbol.empty() && test(symbol)) return OfSymbol(symbol, input, static_cast<int>(axis));
    }
  }
  return std::nullopt;
}

}  // namespace attnrun::cli
