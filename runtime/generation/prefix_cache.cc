// SPDX-License-Identifier: Apache-2.0
#include "generation/prefix_cache.h"

#include <iterator>
#include <utility>

namespace attnrun::gen {
namespace {

// True if `row` is of no use beside `other`.
bool IsCovered(const Row& row, const Row& other) {
  const bool has_more = other.ids().size() > row.ids().size();
  if (has_more && !other.can_rewind()) return false;
  return SharedPrefix(other, row.ids()) == static_cast<int64_t>(row.ids().size());
}

}  // namespace

int64_t SharedPrefix(const Row& row, absl::Span<const int64_t> ids) {
  if (!row.has_cache() || row.reads_prompt_whole()) return 0;
  const int64_t shared = CommonPrefix(row.ids(), ids);
  const bool is_whole = shared == static_cast<int64_t>(row.ids().size());
  return is_whole || row.can_rewind() ? shared : 0;
}

const Row* PrefixCache::Find(absl::Span<const int64_t> ids) {
  int64_t most = 0;
  auto best = rows_.end();
  for (auto row = rows_.begin(); row != rows_.end(); ++row) {
    const int64_t shared = SharedPrefix(**row, ids);
    if (shared <= most) continue;
    most = shared;
    best = row;
  }
  if (best == rows_.end()) return nullptr;
  rows_.splice(rows_.begin(), rows_, best);
  return rows_.front().get();
}

void PrefixCache::Insert(std::unique_ptr<Row> row) {
  const size_t bytes = row->byte_size();
  if (SharedPrefix(*row, row->ids()) == 0 || bytes > most_bytes_) return;
  for (auto old = rows_.begin(); old != rows_.end();) {
    const auto next = std::next(old);
    if (IsCovered(*row, **old)) return;
    if (IsCovered(**old, *row)) Erase(old);
    old = next;
  }
  while (bytes_ + bytes > most_bytes_) Erase(std::prev(rows_.end()));
  rows_.push_front(std::move(row));
  bytes_ += bytes;
}

void PrefixCache::Erase(std::list<std::unique_ptr<Row>>::iterator row) {
  bytes_ -= (*row)->byte_size();
  rows_.erase(row);
}

}  // namespace attnrun::gen
