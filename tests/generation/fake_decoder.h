// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_
#define ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "generation/decoder.h"

namespace attnrun::gen {

class FakeRow : public Row {
 public:
  const TokenIds& ids() const override { return read; }
  bool has_cache() const override { return cached; }
  bool can_rewind() const override { return rewinds; }
  bool reads_guesses() const override { return rewinds; }
  bool reads_prompt_whole() const override { return whole; }
  absl::Status Rewind(int64_t length) override {
    read.resize(static_cast<size_t>(length));
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Row>> Clone(int64_t length, int64_t) const override {
    auto clone = std::make_unique<FakeRow>(*this);
    clone->read.resize(static_cast<size_t>(length));
    return clone;
  }
  size_t byte_size() const override { return read.size() * 10; }

  TokenIds read;
  bool cached = true;
  bool rewinds = true;
  bool whole = false;
};

// A decoder whose logits follow from all that a row has read, by a formula that a test can repeat:
// with h = 7, and h = (31 h + id + 1) mod 1009 for each id, logit v is ((h (2 v + 3)) mod 97) / 16.
// With `counts`, the logit of the last id + 1 is 9 more. It fails for a row that reads `bad_id`.
class FakeDecoder : public Decoder {
 public:
  explicit FakeDecoder(int64_t vocabulary) : vocabulary_(vocabulary) {}

  static std::unique_ptr<Row> NewRow() { return std::make_unique<FakeRow>(); }
  static std::unique_ptr<Row> NewWholeRow() {
    auto row = std::make_unique<FakeRow>();
    row->whole = true;
    return row;
  }

  Logits LogitsBehind(const TokenIds& ids) const {
    int64_t hash = 7;
    for (const int64_t id : ids) hash = (hash * 31 + id + 1) % 1009;
    Logits logits{vocabulary_, {}};
    for (int64_t v = 0; v < vocabulary_; ++v) {
      logits.values.push_back(static_cast<float>((hash * (2 * v + 3)) % 97) / 16);
      if (counts && v == (ids.back() + 1) % vocabulary_) logits.values.back() += 9;
    }
    return logits;
  }

  absl::StatusOr<std::vector<Logits>> Read(absl::Span<const Reading> readings,
                                           const RunOptions& options) const override {
    ++reads;
    most_rows = std::max(most_rows, readings.size());
    size_t ids_of_step = 0;
    for (const Reading& reading : readings) ids_of_step += reading.ids.size();
    most_ids = std::max(most_ids, ids_of_step);
    if (on_read) on_read();
    if (options.cancel != nullptr && *options.cancel) return absl::CancelledError("cancelled");
    for (const Reading& reading : readings) {
      for (const int64_t id : reading.ids) {
        if (id == bad_id) return absl::InternalError("a bad id");
      }
    }
    std::vector<Logits> all;
    for (const Reading& reading : readings) {
      TokenIds& ids = static_cast<FakeRow*>(reading.row)->read;
      Logits& logits = all.emplace_back(Logits{vocabulary_, {}});
      const auto begin = static_cast<int64_t>(reading.ids.size()) - reading.positions;
      for (int64_t i = 0; i < static_cast<int64_t>(reading.ids.size()); ++i) {
        ids.push_back(reading.ids[i]);
        ++ids_read;
        if (i < begin) continue;
        const Logits behind = LogitsBehind(ids);
        logits.values.insert(logits.values.end(), behind.values.begin(), behind.values.end());
      }
    }
    return all;
  }

  bool counts = false;
  int64_t bad_id = -1;
  std::function<void()> on_read;
  // Counted over all calls.
  mutable int reads = 0;
  mutable int64_t ids_read = 0;
  mutable size_t most_rows = 0;
  mutable size_t most_ids = 0;

 private:
  const int64_t vocabulary_;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_
