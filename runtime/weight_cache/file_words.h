// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_FILE_WORDS_H_
#define ATTNRUN_WEIGHT_CACHE_FILE_WORDS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/div_ceil.h"

namespace attnrun::cache {

// Everything in a cache file except panels: 64-bit numbers in this machine's byte order.
using FileWords = std::vector<uint64_t>;

inline absl::string_view BytesOf(const FileWords& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

// Appends the length of `text`, then its bytes, padded with zeros to whole words.
inline void AppendText(absl::string_view text, FileWords& words) {
  words.push_back(text.size());
  const size_t begin = words.size();
  words.resize(begin + DivCeil(text.size(), sizeof(uint64_t)), 0);
  std::memcpy(words.data() + begin, text.data(), text.size());
}

// Reads numbers one after the other; returns zeros past the end.
class WordReader {
 public:
  explicit WordReader(absl::string_view bytes) : bytes_(bytes) {}

  uint64_t Next() {
    uint64_t word = 0;
    ok_ = ok_ && bytes_.size() >= sizeof(word);
    if (!ok_) return 0;
    std::memcpy(&word, bytes_.data(), sizeof(word));
    bytes_.remove_prefix(sizeof(word));
    return word;
  }
  std::string NextText() {
    const uint64_t size = Next();
    ok_ = ok_ && size <= bytes_.size() / sizeof(uint64_t) * sizeof(uint64_t);
    if (!ok_) return "";
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(DivCeil(size, sizeof(uint64_t)) * sizeof(uint64_t));
    return text;
  }
  // The bytes that were not read yet.
  absl::string_view rest() const { return bytes_; }
  // False once a read went past the end.
  bool ok() const { return ok_; }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_FILE_WORDS_H_
