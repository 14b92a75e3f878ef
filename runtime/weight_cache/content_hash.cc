// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/content_hash.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/file_pages.h"
#include "core/parallel.h"
#include "weight_cache/checksum.h"

namespace attnrun::cache {
namespace {

// Bytes that one thread hashes at a time. The hash depends on this number.
constexpr size_t kPiece = size_t{4} << 20;

}  // namespace

ContentHash ContentHash::Of(absl::Span<const absl::string_view> files) {
  ContentHash hash;
  std::vector<absl::string_view> pieces;
  for (const absl::string_view file : files) {
    hash.size += file.size();
    // An empty piece ends each file, so that the hash depends on where files end.
    for (size_t i = 0; i <= file.size(); i += kPiece) pieces.push_back(file.substr(i, kPiece));
    if (!pieces.back().empty()) pieces.push_back("");
  }
  std::vector<Checksum> sums(pieces.size());
  ParallelFor(std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums[i] = Checksum::Of(pieces[i]);
      ReleaseFilePages(pieces[i].data(), pieces[i].size());
    }
  });
  const Checksum all =
      Checksum::Of({reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(Checksum)});
  hash.low = all.low;
  hash.high = all.high;
  return hash;
}

std::string ContentHash::ToString() const {
  return absl::StrCat(absl::Hex(size), "-", absl::Hex(high, absl::kZeroPad16),
                      absl::Hex(low, absl::kZeroPad16));
}

}  // namespace attnrun::cache
