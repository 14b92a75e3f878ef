// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
#define ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/file_bytes.h"
#include "ops/gemm/packed_store.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::cache {

// The packed weights of one model in a cache directory. Its files are
//   attnrun-<content hash of the model>-w<panel width>.packed
//     the packed matrices, see PackedFile
//   attnrun-<hash of device and path of the model>-w<panel width>.seen
//     a SourceStamp
// Save also removes the files of models that were deleted or changed, see SweepCache.
// Only weights that lie as floats in the model's files are kept, alone or side by side. Weights
// computed by the optimizer and half-precision weights are packed at each start.
class WeightCache final : public ops::PackedStore {
 public:
  using Files = std::vector<std::shared_ptr<const FileBytes>>;

  // `files` are those of the model, its own first; at least one. Nothing is read until a weight
  // that can be kept is looked up. Damaged files in the directory count as missing. `verify`: read
  // and check everything, even if a SourceStamp says that nothing changed.
  WeightCache(std::string directory, Files files, bool verify = false);

  std::shared_ptr<const ops::PackedMatrix> Find(ops::WeightFormat format,
                                                const ops::SideBySide& weight) override;
  void Add(const ops::SideBySide& weight, std::shared_ptr<const ops::PackedMatrix> matrix) override;

  // Writes the weights added and those that were there, and creates the directory if it is missing.
  // Errors are those of the file system. Does nothing if nothing was added.
  absl::Status Save();

 private:
  // nullopt if a part lies outside the model's files.
  std::optional<WeightKey> KeyOf(ops::WeightFormat format, const ops::SideBySide& weight) const;
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
  PackedMatrices matrices_;
  bool added_ = false;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
