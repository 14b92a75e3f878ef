// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/parallel.h"

namespace attnrun {
namespace {

// More than one piece, and not a whole number of steps.
constexpr size_t kSize = (size_t{9} << 20) + 37;

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 24);
  return bytes;
}

TEST(ContentHashTest, EveryByteCounts) {
  std::string bytes = Bytes(kSize);
  const cache::ContentHash hash = cache::ContentHash::Of({bytes});
  EXPECT_EQ(hash.size, kSize);
  for (const size_t at : {size_t{0}, size_t{63}, size_t{64}, (size_t{4} << 20) - 1, size_t{4} << 20,
                          kSize - 38, kSize - 1}) {
    for (const int bit : {0, 7}) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const cache::ContentHash other = cache::ContentHash::Of({bytes});
      EXPECT_NE(other.low, hash.low) << at;
      EXPECT_NE(other.high, hash.high) << at;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    }
  }
  EXPECT_EQ(cache::ContentHash::Of({bytes}), hash);
}

TEST(ContentHashTest, FileBoundariesCount) {
  const std::string bytes = Bytes(100);
  const absl::string_view all = bytes;
  std::set<std::string> names;
  for (const size_t end : {size_t{0}, size_t{50}, size_t{64}, size_t{100}}) {
    names.insert(cache::ContentHash::Of({all.substr(0, end), all.substr(end)}).ToString());
  }
  names.insert(cache::ContentHash::Of({all}).ToString());
  names.insert(cache::ContentHash::Of({all.substr(50), all.substr(0, 50)}).ToString());
  names.insert(cache::ContentHash::Of({all, ""}).ToString());
  // The loop has already added {all, ""}, so it does not count again.
  EXPECT_EQ(names.size(), 6);
}

TEST(ContentHashTest, TheNumberOfThreadsDoesNotMatter) {
  const std::string bytes = Bytes(kSize);
  const int threads = NumThreads();
  SetNumThreads(1);
  const cache::ContentHash one = cache::ContentHash::Of({bytes, bytes});
  SetNumThreads(3);
  EXPECT_EQ(cache::ContentHash::Of({bytes, bytes}), one);
  SetNumThreads(threads);
}

}  // namespace
}  // namespace attnrun
