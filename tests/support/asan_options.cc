// SPDX-License-Identifier: Apache-2.0
// Compiled into every program of a build with AddressSanitizer. Abseil's headers then mark the free
// slots of hash tables as poisoned, but the installed library, built without, never clears that.
extern "C" const char* __asan_default_options() { return "allow_user_poisoning=0"; }
