// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_SANITIZER_H_
#define ATTNRUN_TESTS_SUPPORT_SANITIZER_H_

#include "absl/base/config.h"

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
#define ATTNRUN_SANITIZER 1
#else
#define ATTNRUN_SANITIZER 0
#endif

namespace attnrun::testing {

// True if the program is built with AddressSanitizer or ThreadSanitizer, which have the allocator
// and map terabytes.
inline constexpr bool kSanitizer = ATTNRUN_SANITIZER != 0;

// How many times longer work may take with their checks.
inline constexpr int kSlowdown = kSanitizer ? 20 : 1;

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_SANITIZER_H_
