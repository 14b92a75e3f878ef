// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FILE_PAGES_H_
#define ATTNRUN_CORE_FILE_PAGES_H_

#include <cstddef>

namespace attnrun {

// Memory of private read-only maps of files. Its pages may be given back at any time: whoever reads
// them again gets the same bytes from the file. Of other memory that is not so, which is why maps
// are registered. All functions are safe from many threads.

// `data` is where the map begins.
void AddFileMap(const void* data, size_t size);
// To be called before the map goes.
void RemoveFileMap(const void* data);

// Gives back the whole pages of [data, data + size), whose contents were copied elsewhere. Does
// nothing outside of file maps.
void ReleaseFilePages(const void* data, size_t size);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_FILE_PAGES_H_
