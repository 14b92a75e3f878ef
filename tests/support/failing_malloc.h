// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_FAILING_MALLOC_H_
#define ATTNRUN_TESTS_SUPPORT_FAILING_MALLOC_H_

#include <cstdint>

namespace attnrun::testing {

// A program that links failing_malloc.cc allocates through it: malloc and its kin, and with them
// operator new, in all threads and libraries.

// False under a sanitizer, which needs its own malloc.
bool CanFailAllocations();

// Lets allocation number `first` from now on fail, counted from 0, and the following ones up to
// `count` in all, until StopFailing.
void FailAllocations(int64_t first, int64_t count);
// Returns how many failed.
int64_t StopFailing();

// Lets no allocation fail, but counts them, in all threads, until StopCounting, which returns their
// number.
void CountAllocations();
int64_t StopCounting();

// Allocations that are not freed.
int64_t LiveAllocations();

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_FAILING_MALLOC_H_
