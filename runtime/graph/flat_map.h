// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_FLAT_MAP_H_
#define ATTNRUN_GRAPH_FLAT_MAP_H_

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace attnrun {

// A sorted map of few entries, the first `N` of which need no memory from the heap. The members
// work as those of std::map.
template <typename Key, typename Mapped, size_t N>
class FlatMap {
 public:
  using Entry = std::pair<Key, Mapped>;

  FlatMap() = default;
  // The vector's own copy leaks its memory where the copy of an entry throws.
  FlatMap(const FlatMap& other) {
    entries_.reserve(other.size());
    for (const Entry& entry : other) entries_.push_back(entry);
  }
  FlatMap(FlatMap&& other) noexcept = default;
  FlatMap& operator=(const FlatMap& other) { return *this = FlatMap(other); }
  FlatMap& operator=(FlatMap&& other) noexcept = default;
  ~FlatMap() = default;

  auto begin() { return entries_.begin(); }
  auto begin() const { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

  auto find(const Key& key) const {
    const auto at = LowerBound(entries_, key);
    return at != end() && at->first == key ? at : end();
  }
  bool contains(const Key& key) const { return find(key) != end(); }

  Mapped& operator[](const Key& key) {
    const auto at = LowerBound(entries_, key) - entries_.begin();
    if (at == std::ssize(entries_) || entries_[at].first != key) {
      entries_.emplace_back(key, Mapped());
      std::rotate(entries_.begin() + at, entries_.end() - 1, entries_.end());
    }
    return entries_[at].second;
  }
  void insert(const Entry& entry) {
    if (!contains(entry.first)) (*this)[entry.first] = entry.second;
  }
  void erase(const Key& key) {
    const auto at = find(key);
    if (at != end()) entries_.erase(at);
  }

  friend bool operator==(const FlatMap& a, const FlatMap& b) { return a.entries_ == b.entries_; }

 private:
  template <typename Entries>
  static auto LowerBound(Entries& entries, const Key& key) {
    return std::lower_bound(entries.begin(), entries.end(), key,
                            [](const Entry& entry, const Key& k) { return entry.first < k; });
  }

  absl::InlinedVector<Entry, N> entries_;
};

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_FLAT_MAP_H_
