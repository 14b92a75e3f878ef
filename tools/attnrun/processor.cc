// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstring>

// All other sources may use AVX2, also in the initializers that run before main. This file may not,
// and its function runs before all of them.
namespace attnrun::cli {
namespace {

__attribute__((constructor(101))) void RequireAvx2() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  constexpr char kMessage[] =
      "attnrun: this processor lacks AVX2 or FMA, which attnrun needs (x86-64-v3)\n";
  // Whoever cannot read the message still gets the status.
  if (write(STDERR_FILENO, kMessage, std::strlen(kMessage)) < 0) _exit(3);
  _exit(3);
}

}  // namespace
}  // namespace attnrun::cli
