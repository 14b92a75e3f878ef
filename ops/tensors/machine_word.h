// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_MACHINE_WORD_H_
#define ATTNRUN_OPS_TENSORS_MACHINE_WORD_H_

#include <cstdint>

#include "attnrun/data_type.h"
#include "ops/tensors/strided_copy.h"

// Helpers for kernels that copy elements one by one, as unsigned integers of their width.
namespace attnrun::ops {

inline bool IsMachineWord(DataType type) { return MovesAsBytes(type) && BitWidth(type) <= 64; }

// Calls visit(T()) with the unsigned integer of the type's width. Precondition: IsMachineWord.
template <typename Visit>
void WithWord(DataType type, Visit visit) {
  const int bits = BitWidth(type);
  if (bits == 8) return visit(uint8_t());
  if (bits == 16) return visit(uint16_t());
  if (bits == 32) return visit(uint32_t());
  return visit(uint64_t());
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_MACHINE_WORD_H_
