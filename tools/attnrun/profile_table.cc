// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/profile_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

std::vector<ProfileRow> SlowestFirst(std::vector<ProfileRow> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.time > b.time; });
  return rows;
}

}  // namespace

std::vector<absl::Duration> SelfTimes(const std::vector<ProfileEvent>& events) {
  // Outer events come before the events inside them.
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(events[a].start, -events[a].duration) <
           std::tuple(events[b].start, -events[b].duration);
  });
  std::vector<absl::Duration> self(events.size());
  std::vector<size_t> open;
  for (const size_t i : order) {
    self[i] = events[i].duration;
    const absl::Duration end = events[i].start + events[i].duration;
    while (!open.empty() && events[open.back()].start + events[open.back()].duration < end) {
      open.pop_back();
    }
    if (!open.empty()) self[open.back()] -= events[i].duration;
    open.push_back(i);
  }
  return self;
}

void ProfileTable::Add(const std::vector<ProfileEvent>& events) {
  ++runs_;
  const std::vector<absl::Duration> self = SelfTimes(events);
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  for (size_t i = 0; i < rows_.size(); ++i) {
    places[{rows_[i].node, rows_[i].op_type, rows_[i].kernel}] = i;
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const ProfileEvent& event = events[i];
    const auto [it, is_new] =
        places.try_emplace({event.node, event.op_type, event.kernel}, rows_.size());
    if (is_new) rows_.push_back({event.node, event.op_type, event.kernel, {}, 0, 0});
    ProfileRow& row = rows_[it->second];
    row.time += self[i];
    row.flops += static_cast<double>(event.flops);
    row.calls += 1;
  }
}

std::vector<ProfileRow> ProfileTable::Average(bool by_node) const {
  std::vector<ProfileRow> result;
  for (const ProfileRow& row : rows_) {
    auto place = result.end();
    if (!by_node) {
      place = std::find_if(result.begin(), result.end(), [&row](const ProfileRow& other) {
        return other.op_type == row.op_type && other.kernel == row.kernel;
      });
    }
    if (place == result.end()) {
      place = result.insert(place, {by_node ? row.node : "", row.op_type, row.kernel, {}, 0, 0});
    }
    place->time += row.time / runs_;
    place->flops += row.flops / runs_;
    place->calls += row.calls / runs_;
  }
  return result;
}

std::vector<ProfileRow> ProfileTable::InOrder() const { return Average(true); }
std::vector<ProfileRow> ProfileTable::ByNode() const { return SlowestFirst(Average(true)); }
std::vector<ProfileRow> ProfileTable::ByOp() const { return SlowestFirst(Average(false)); }

absl::Duration ProfileTable::Total() const {
  absl::Duration total;
  for (const ProfileRow& row : rows_) total += row.time / runs_;
  return total;
}

Json ChromeTrace(const std::vector<ProfileEvent>& events) {
  Json list = Json::array();
  for (const ProfileEvent& event : events) {
    list.push_back(
        {{"name", event.op_type},
         {"cat", event.kernel},
         {"ph", "X"},
         {"pid", 1},
         {"tid", 1},
         {"ts", absl::ToDoubleMicroseconds(event.start)},
         {"dur", absl::ToDoubleMicroseconds(event.duration)},
         {"args", {{"node", event.node}, {"kernel", event.kernel}, {"flops", event.flops}}}});
  }
  return {{"traceEvents", list}, {"displayTimeUnit", "ms"}};
}

}  // namespace attnrun::cli
