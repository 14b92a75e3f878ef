// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_MODEL_FINGERPRINT_H_
#define ATTNRUN_RUNTIME_MODEL_FINGERPRINT_H_

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "attnrun/precision.h"
#include "core/file_bytes.h"
#include "weight_cache/content_hash.h"

namespace attnrun {

// Tells models apart by the contents of their files, and sessions by their precision, since a state
// depends on both. The files are read at the first call of Content. Thread-safe.
class ModelFingerprint {
 public:
  using Files = std::vector<std::shared_ptr<const FileBytes>>;

  // `bytes` are those of a model without files, which must outlive the session.
  ModelFingerprint(Files files, absl::string_view bytes, Precision precision)
      : files_(std::move(files)), bytes_(bytes), precision_(precision) {}

  Precision precision() const { return precision_; }

  cache::ContentHash Content() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!content_.has_value()) content_ = cache::ContentHash::Of(Parts());
    return *content_;
  }

 private:
  std::vector<absl::string_view> Parts() const {
    if (files_.empty()) return {bytes_};
    std::vector<absl::string_view> parts;
    parts.reserve(files_.size());
    for (const auto& file : files_) parts.push_back(file->bytes());
    return parts;
  }

  const Files files_;
  const absl::string_view bytes_;
  const Precision precision_;
  mutable std::mutex mutex_;
  mutable std::optional<cache::ContentHash> content_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_MODEL_FINGERPRINT_H_
