// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
#define ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/file_identity.h"
#include "ops/gemm/packed_store.h"
#include "weight_cache/content_hash.h"
#include "weight_cache/file_words.h"

namespace attnrun::cache {

using PackedWeights = std::map<ops::PackedKey, ops::PackedBytes>;

// A file of packed weights:
//   header    magic, format, panel width, content hash of the model (3 words), words of the index
//   index     for each weight: words of its key, the key, facts, number of parts; for each part its
//             offset, size and checksum
//   checksum  of header and index; then zeros up to a multiple of kPartAlignment
//   parts     of each weight, as they lie in memory, each starting at such a multiple. Parts that
//             share their memory are written once.
struct PackedFile {
  PackedWeights weights;
  FileIdentity identity;
};

// Maps the file; the weights are views of it. nullopt if the file is missing, damaged, of another
// format or of another model. Reads all of it and verifies its checksums, unless its identity is
// `trusted`, that of a file verified before.
std::optional<PackedFile> OpenPackedFile(const std::string& path, const ContentHash& content,
                                         const std::optional<FileIdentity>& trusted);

// Errors as in ReplaceFile.
absl::StatusOr<FileIdentity> WritePackedFile(const std::string& path, const ContentHash& content,
                                             const PackedWeights& weights);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
