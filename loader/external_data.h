// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_EXTERNAL_DATA_H_
#define ATTNRUN_LOADER_EXTERNAL_DATA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/limits.h"
#include "core/file_bytes.h"

namespace attnrun::loader {

// The files beside a model that hold the elements of tensors (ONNX external data), each opened
// once.
class ExternalData {
 public:
  // `most_bytes`: of each file.
  ExternalData(std::string model_path, FileAccess access, int64_t most_bytes = Limits::kNone)
      : model_path_(std::move(model_path)), access_(access), most_bytes_(most_bytes) {}

  // `location` is relative to the folder of the model's path. If the file is not there, it is
  // searched in the folder of the file that the model's path links to. kInvalidArgument if the
  // location is absolute or, with symbolic links resolved, in neither folder. kNotFound if there is
  // no such file.
  absl::StatusOr<std::shared_ptr<const FileBytes>> Open(const std::string& location);

  // The files opened so far, ordered by location.
  std::vector<std::shared_ptr<const FileBytes>> files() const;

 private:
  const std::string model_path_;
  const FileAccess access_;
  const int64_t most_bytes_;
  std::map<std::string, std::shared_ptr<const FileBytes>> files_;
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_EXTERNAL_DATA_H_
