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

// A source of bytes that is read once, from front to back.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `size` bytes at `data`; kInvalidArgument if the source ends before that.
  virtual absl::Status Read(void* data, size_t size) = 0;

  // Bytes not read yet, according to the file system or the archive's directory.
  virtual int64_t remaining() const = 0;
};

// A regular file, from its beginning. kNotFound if there is none.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_BYTE_SOURCE_H_
