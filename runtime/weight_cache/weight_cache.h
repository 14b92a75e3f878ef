// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
#define ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/mapped_file.h"
#include "ops/gemm/packed_store.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::cache {

// The packed weights of one model in a directory, whose files are
//   attnrun-<content of the model>-w<panel width>.packed
//     the packed matrices, see PackedFile
//   attnrun-<device and path of the model>-w<panel width>.seen
//     a SourceStamp
// Saving removes those of models that were deleted or have other contents now, see SweepCache.
// Kept are weights that are floats in the model's files, alone or side by side; what the optimizer
// computed from them, and half-precision weights, are packed at each start.
class WeightCache final : public ops::PackedStore {
 public:
  using Files = std::vector<std::shared_ptr<const MappedFile>>;

  // `files`: those of the model, its own first; at least one. Nothing is read before a weight is
  // looked for that can be kept. Whatever is wrong with the files in the directory is as if they
  // were not there.
  WeightCache(std::string directory, Files files);

  std::shared_ptr<const ops::PackedMatrix> Find(const opt::SideBySide& weight) override;
  void Add(const opt::SideBySide& weight, std::shared_ptr<const ops::PackedMatrix> matrix) override;

  // Writes what was added, with what was there, and makes the directory if need be; errors are
  // those of the file system. Does nothing if nothing was added.
  absl::Status Save();

 private:
  // nullopt if a part lies elsewhere than in the model's files.
  std::optional<WeightKey> KeyOf(const opt::SideBySide& weight) const;
  void Open();
  std::string PackedPath() const;
  std::string StampPath() const;
  // Errors do no harm: next time all is read again.
  void Remember();

  const std::string directory_;
  const Files files_;
  bool opened_ = false;
  SourceStamp stamp_;
  PackedMatrices matrices_;
  bool added_ = false;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_WEIGHT_CACHE_H_
