// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NPZ_H_
#define ATTNRUN_TOOLS_ATTNRUN_NPZ_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

struct zip;

namespace attnrun::cli {

// A NumPy .npz archive, stored or compressed: one .npy entry per array.
class NpzFile {
 public:
  // Reads only the archive's directory. kNotFound if there is no such file; kInvalidArgument if it
  // is not an .npz file or has two entries of one name.
  static absl::StatusOr<NpzFile> Open(const std::string& path);

  // Entries by array name.
  const std::map<std::string, uint64_t>& entries() const { return entries_; }

  // Decompresses one array, never more than its header announces. Precondition: `name` is an entry.
  absl::StatusOr<Tensor> Read(const std::string& name) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };

  std::string path_;
  std::unique_ptr<zip, Close> archive_;
  std::map<std::string, uint64_t> entries_;
};

// Writes one uncompressed entry per array of the values; see ArraysOf. Equal tensors give equal
// bytes. Either the whole file appears, or none.
absl::Status WriteNpz(const std::string& path, const TensorMap& values);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NPZ_H_
