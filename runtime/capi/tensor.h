// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_TENSOR_H_
#define ATTNRUN_CAPI_TENSOR_H_

#include "attnrun/c.h"
#include "attnrun/tensor.h"

struct attnrun_tensor {
  attnrun::Tensor tensor;
};

#endif  // ATTNRUN_CAPI_TENSOR_H_
