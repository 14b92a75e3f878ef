// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_AMX_H_
#define ATTNRUN_OPS_GEMM_INT8_AMX_H_

#include "ops/gemm/int8_driver.h"

namespace attnrun::ops {

// MultiplyInt8Matrices for the layout kAmx. Precondition: the panels are equally far apart.
void MultiplyInt8OnAmx(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                       const Int8Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_AMX_H_
