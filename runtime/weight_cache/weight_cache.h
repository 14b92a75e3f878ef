// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
#define ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/file_bytes.h"
#include "ops/gemm/packed_store.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::cache {

// The packed weights of one model in a cache directory. Its files are
//   attnrun-<content hash of the model>-w<panel width>.packed
//     the packed weights, see PackedFile
//   attnrun-<hash of device and path of the model>-w<panel width>.seen
//     a SourceStamp
// Save also removes the files of models that were deleted or changed, see SweepCache.
// A source of a weight that lies in the model's files is told by its place there, since their
// contents are known; one that the optimizer computed, by a hash of its bytes.
class WeightCache final : public ops::PackedStore {
 public:
  using Files = std::vector<std::shared_ptr<const FileBytes>>;

  // `files` are those of the model, its own first; at least one. Nothing is read until a weight
  // is looked up. Damaged files in the directory count as missing. `verify`: read
  // and check everything, even if a SourceStamp says that nothing changed.
  WeightCache(std::string directory, Files files, bool verify = false);

  ops::PackedKey KeyOf(const ops::PackedRecipe& recipe) const override;
  std::optional<ops::PackedBytes> Find(const ops::PackedKey& key) override;
  void Add(const ops::PackedKey& key, ops::PackedBytes packed) override;

  // Writes the weights added and those that were there, and creates the directory if it is missing.
  // Errors are those of the file system. Does nothing if nothing was added.
  absl::Status Save();

 private:
  void AppendSource(absl::string_view source, ops::PackedKey& key) const;
  void Open();
  std::string PackedPath() const;
  std::string StampPath() const;
  // Ignores errors: the next start then reads everything again.
  void Remember();

  const std::string directory_;
  const Files files_;
  const bool verify_;
  bool opened_ = false;
  SourceStamp stamp_;
  PackedWeights weights_;
  bool added_ = false;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
