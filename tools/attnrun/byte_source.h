// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_BYTE_SOURCE_H_
#define ATTNRUN_TOOLS_ATTNRUN_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace attnrun::cli {

// Bytes read once, from front to back.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `size` bytes at `data`; kInvalidArgument if the source ends before.
  virtual absl::Status Read(void* data, size_t size) = 0;

  // Bytes not read yet, as the file system or the archive's directory claims.
  virtual int64_t remaining() const = 0;
};

// A regular file from its beginning. kNotFound if it cannot be opened.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_BYTE_SOURCE_H_
