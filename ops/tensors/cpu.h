// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_CPU_H_
#define ATTNRUN_OPS_TENSORS_CPU_H_

#include <string>

#include "absl/status/status.h"

namespace attnrun::ops {

// The instruction sets that kernels use. The environment variable ATTNRUN_MAX_ISA caps them: avx2,
// avx-vnni (256 bits), avx512, vnni, bf16 or amx, each with those before it. AVX2 and FMA are
// always there.
struct Cpu {
  // AVX-512 F, BW, CD, DQ and VL.
  bool avx512 = false;
  // vpdpbusd, in vectors of 512 bits with `avx512` and of 256 bits (AVX-VNNI) without.
  bool vnni = false;
  // vdpbf16ps in 512 bits.
  bool avx512_bf16 = false;
  // The matrix unit, with permission of the system to use it.
  bool amx_bf16 = false;
  bool amx_int8 = false;

  // The names of what is used, such as "AVX-512, VNNI, AMX (bf16, int8)".
  std::string Names() const;
};

// kFailedPrecondition if the processor lacks AVX2 or FMA, which all kernels need; kInvalidArgument
// for an unknown cap.
absl::Status CheckProcessor();

// This machine, as far as the cap allows. Asks the system for the permission to use AMX when it is
// called first. Also keeps Highway's dispatch below the cap.
const Cpu& ThisCpu();

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_CPU_H_
