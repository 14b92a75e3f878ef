// SPDX-License-Identifier: Apache-2.0
// Compiled into every program of a build with AddressSanitizer. Abseil's headers mark the free
// slots of hash tables as poisoned in such a build, but the installed library, compiled without the
// sanitizer, never clears the marks.
extern "C" const char* __asan_default_options() { return "allow_user_poisoning=0"; }
