// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_
#define ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_

#include <vector>

#include "generation/decoder.h"

namespace attnrun::gen {

// A decoder whose logits follow from all that a row has read, by a formula that a test can repeat:
// with h = 7, and h = (31 h + id + 1) mod 1009 for each id, logit v is ((h (2 v + 3)) mod 97) / 16.
class FakeDecoder : public Decoder {
 public:
  FakeDecoder(int64_t vocabulary, size_t rows) : vocabulary_(vocabulary), hashes_(rows, 7) {}

  absl::StatusOr<Logits> Read(absl::Span<const TokenIds> ids, const RunOptions&) override {
    ++reads;
    Logits logits{vocabulary_, {}};
    for (size_t i = 0; i < hashes_.size(); ++i) {
      for (const int64_t id : ids[i]) hashes_[i] = (hashes_[i] * 31 + id + 1) % 1009;
      for (int64_t v = 0; v < vocabulary_; ++v) {
        const int64_t mixed = (hashes_[i] * (2 * v + 3)) % 97;
        logits.values.push_back(ids[i].empty() ? 0 : static_cast<float>(mixed) / 16);
      }
    }
    return logits;
  }

  absl::Status Select(absl::Span<const int64_t> rows) override {
    std::vector<int64_t> hashes;
    for (const int64_t row : rows) hashes.push_back(hashes_[row]);
    hashes_ = hashes;
    return absl::OkStatus();
  }

  int reads = 0;

 private:
  int64_t vocabulary_;
  std::vector<int64_t> hashes_;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_TESTS_GENERATION_FAKE_DECODER_H_
