// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_HUGE_PAGE_H_
#define ATTNRUN_CORE_HUGE_PAGE_H_

#include <cstddef>

namespace attnrun {

// Blocks of the heap of so many bytes or more begin at a huge page and lie on huge pages, where the
// system has them. Memory that each run reads once, as it does weights and caches, takes up to
// twice the time on pages of 4 KB, because of address look-ups.
inline constexpr size_t kHugePage = size_t{1} << 21;

}  // namespace attnrun

#endif  // ATTNRUN_CORE_HUGE_PAGE_H_
