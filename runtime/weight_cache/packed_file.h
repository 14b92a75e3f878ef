// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
#define ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "core/file_identity.h"
#include "ops/gemm/packed_matrix.h"
#include "weight_cache/content_hash.h"
#include "weight_cache/file_words.h"

namespace attnrun::cache {

// Which weight of a model: where in its files it lies, and how.
using WeightKey = FileWords;
using PackedMatrices = absl::btree_map<WeightKey, std::shared_ptr<const ops::PackedMatrix>>;

// A file of packed matrices:
//   header    magic, format, panel width, content of the model (3), words of the index
//   index     for each matrix: words of its key, the key, rows, columns, where its panels begin,
//             checksum of these
//   checksum  of header and index; zeros up to a multiple of kPanelAlignment
//   panels    of each matrix, as they lie in memory, each beginning at such a multiple
struct PackedFile {
  PackedMatrices matrices;
  FileIdentity identity;
};

// Maps the file; the matrices view it. nullopt if there is none, or if it is not whole, of another
// format, or of another model. Unless it is the file `trusted`, which it was checked to be, all of
// it is read and its checksums verified.
std::optional<PackedFile> OpenPackedFile(const std::string& path, const ContentHash& content,
                                         const std::optional<FileIdentity>& trusted);

// Errors as ReplaceFile.
absl::StatusOr<FileIdentity> WritePackedFile(const std::string& path, const ContentHash& content,
                                             const PackedMatrices& matrices);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
