// SPDX-License-Identifier: Apache-2.0
// Compiled into every program of a build with AddressSanitizer. Abseil's headers mark the free
// slots of hash tables as poisoned in such a build, but the installed library, compiled without the
// sanitizer, never clears the marks. Memory that cannot be had is an error of the program's, not of
// the sanitizer's.
extern "C" const char* __asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1";
}
