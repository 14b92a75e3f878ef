// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
#define ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/file_identity.h"
#include "ops/gemm/packed_matrix.h"
#include "weight_cache/content_hash.h"
#include "weight_cache/file_words.h"

namespace attnrun::cache {

// Identifies a weight of a model: its packed format, and for each part the file, offset, extents
// and strides.
using WeightKey = FileWords;
using PackedMatrices = std::map<WeightKey, std::shared_ptr<const ops::PackedMatrix>>;

// A file of packed matrices:
//   header    magic, format, panel width, content hash of the model (3 words), words of the index
//   index     for each matrix: words of its key, the key, format, rows, columns, offset of its
//             panels, checksum of its panels
//   checksum  of header and index; then zeros up to a multiple of kPanelAlignment
//   panels    of each matrix, as they lie in memory, each starting at such a multiple
struct PackedFile {
  PackedMatrices matrices;
  FileIdentity identity;
};

// Maps the file; the matrices are views of it. nullopt if the file is missing, damaged, of another
// format or of another model. Reads all of it and verifies its checksums, unless its identity is
// `trusted`, that of a file verified before.
std::optional<PackedFile> OpenPackedFile(const std::string& path, const ContentHash& content,
                                         const std::optional<FileIdentity>& trusted);

// Errors as in ReplaceFile.
absl::StatusOr<FileIdentity> WritePackedFile(const std::string& path, const ContentHash& content,
                                             const PackedMatrices& matrices);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_PACKED_FILE_H_
