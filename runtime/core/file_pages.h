// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FILE_PAGES_H_
#define ATTNRUN_CORE_FILE_PAGES_H_

#include <cstddef>

namespace attnrun {

// A registry of private read-only file maps. The pages of such a map can be released at any time,
// since a later read fetches the same bytes from the file again. Other memory has no such copy, so
// only registered maps are released. All functions are thread-safe.

// `data` is the start of the map.
void AddFileMap(const void* data, size_t size);
// Must be called before the file is unmapped.
void RemoveFileMap(const void* data);

// Releases the whole pages in [data, data + size), whose contents have been copied elsewhere. Does
// nothing for memory that is not a registered map.
void ReleaseFilePages(const void* data, size_t size);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_FILE_PAGES_H_
