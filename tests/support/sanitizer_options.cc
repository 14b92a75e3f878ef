// SPDX-License-Identifier: Apache-2.0
// Compiled into every program of a build with a sanitizer.

// Abseil's headers mark the free slots of hash tables as poisoned in a build with AddressSanitizer,
// but the installed library, compiled without it, never clears the marks. Memory that cannot be had
// is an error of the program's, not of the sanitizer's.
extern "C" const char* __asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1";
}

// Children of fork() may start threads: no other thread of the parent holds a lock of theirs.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
