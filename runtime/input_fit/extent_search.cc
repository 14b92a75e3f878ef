// SPDX-License-Identifier: Apache-2.0
#include "input_fit/extent_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/algorithm/container.h"

namespace attnrun::fit {
namespace {

// Extents that models are made for: all small ones, then multiples of usual patches, frames and
// window lengths.
std::vector<int64_t> UsualExtents() {
  std::vector<int64_t> extents;
  for (int64_t n = 1; n <= 130; ++n) extents.push_back(n);
  for (int64_t n = 136; n <= 1024; n += 8) extents.push_back(n);
  for (int64_t n = 1100; n <= 5000; n += 100) extents.push_back(n);
  for (int64_t n = 2048; n <= 65536; n *= 2) extents.push_back(n);
  return extents;
}

// How far an extent is from another, as the factor between them.
double Distance(int64_t a, int64_t b) {
  return std::abs(std::log(static_cast<double>(a) + 0.5) - std::log(static_cast<double>(b) + 0.5));
}

}  // namespace

ExtentSearch::ExtentSearch(const InputNeeds& needs, Extents extents)
    : extents_(std::move(extents)) {
  for (const auto& [symbol, extent] : extents_) wished_[symbol] = extent.value;
  for (const SymInt& number : needs.not_negative) Add(Need::kNotNegative, number, 0);
  for (const auto& [a, b] : needs.equal) Add(Need::kEqual, a, b);
  for (const auto& [a, b] : needs.broadcast) Add(Need::kBroadcast, a, b);
}

void ExtentSearch::Add(Need::Kind kind, const SymInt& a, const SymInt& b) {
  Need need = {kind, a, b, {}};
  const auto note = [&](const std::string& symbol) -> std::optional<int64_t> {
    const auto found = extents_.find(symbol);
    if (found == extents_.end()) return std::nullopt;
    if (!found->second.is_fixed) need.symbols.insert(symbol);
    return found->second.value;
  };
  const bool known = a.ValueAt(note).has_value();
  if (b.ValueAt(note).has_value() && known && !need.symbols.empty()) {
    needs_.push_back(std::move(need));
  }
}

std::optional<int64_t> ExtentSearch::ValueOf(const SymInt& number) const {
  return number.ValueAt([&](const std::string& symbol) -> std::optional<int64_t> {
    const auto found = extents_.find(symbol);
    return found == extents_.end() ? std::nullopt : std::optional(found->second.value);
  });
}

bool ExtentSearch::IsMet(const Need& need) const {
  const auto a = ValueOf(need.a);
  const auto b = ValueOf(need.b);
  if (!a.has_value() || !b.has_value()) return false;
  if (need.kind == Need::kNotNegative) return *a >= 0;
  return *a == *b || (need.kind == Need::kBroadcast && (*a == 1 || *b == 1));
}

std::vector<const ExtentSearch::Need*> ExtentSearch::Unmet() const {
  std::vector<const Need*> unmet;
  for (const Need& need : needs_) {
    if (!IsMet(need)) unmet.push_back(&need);
  }
  return unmet;
}

std::vector<const ExtentSearch::Need*> ExtentSearch::NeedsOf(const Group& group) const {
  std::vector<const Need*> affected;
  for (const Need& need : needs_) {
    const auto reads = [&](const std::string& symbol) { return need.symbols.contains(symbol); };
    if (absl::c_any_of(group, reads)) affected.push_back(&need);
  }
  return affected;
}

std::vector<ExtentSearch::Group> ExtentSearch::GroupsOf(const Need& need) const {
  std::vector<Group> groups;
  for (auto a = need.symbols.begin(); a != need.symbols.end(); ++a) {
    groups.push_back({*a});
    // Such as the height and width of an image.
    for (auto b = std::next(a); b != need.symbols.end(); ++b) groups.push_back({*a, *b});
  }
  return groups;
}

std::vector<int64_t> ExtentSearch::CandidatesFor(const Need& need) const {
  std::vector<int64_t> candidates = UsualExtents();
  for (const SymInt* side : {&need.a, &need.b}) {
    candidates.push_back(std::abs(side->constant_term()));
    candidates.push_back(ValueOf(*side).value_or(1));
  }
  for (const auto& [symbol, extent] : extents_) candidates.push_back(extent.value);
  std::erase_if(candidates, [](int64_t n) { return n < 1; });
  return candidates;
}

void ExtentSearch::Set(const Group& group, int64_t value) {
  for (const std::string& symbol : group) extents_[symbol].value = value;
}

void ExtentSearch::TryGroup(const Group& group, const std::vector<int64_t>& candidates,
                            size_t unmet, Step& best) {
  const std::vector<const Need*> affected = NeedsOf(group);
  const auto of_group = [&] {
    return static_cast<size_t>(
        absl::c_count_if(affected, [&](const Need* need) { return !IsMet(*need); }));
  };
  const Extents before = extents_;
  const size_t others = unmet - of_group();
  for (const int64_t value : candidates) {
    Set(group, value);
    double distance = 0;
    for (const std::string& symbol : group) distance += Distance(value, wished_[symbol]);
    const Step step = {others + of_group(), distance, &group, value};
    if (std::tie(step.unmet, step.distance) < std::tie(best.unmet, best.distance)) best = step;
  }
  extents_ = before;
}

// Takes the best step for a need that is not met; false if none leaves fewer needs unmet.
bool ExtentSearch::Improve(const Need& need) {
  const std::vector<Group> groups = GroupsOf(need);
  const std::vector<int64_t> candidates = CandidatesFor(need);
  const size_t unmet = Unmet().size();
  Step best = {unmet};
  for (const Group& group : groups) TryGroup(group, candidates, unmet, best);
  if (best.group == nullptr) return false;
  Set(*best.group, best.value);
  return true;
}

void ExtentSearch::Run() {
  // Each step lowers the number of needs that are not met.
  for (bool improved = true; improved;) {
    improved = false;
    for (const Need* need : Unmet()) {
      if (IsMet(*need)) continue;
      improved |= Improve(*need);
    }
  }
}

}  // namespace attnrun::fit
