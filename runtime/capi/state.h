// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_STATE_H_
#define ATTNRUN_CAPI_STATE_H_

#include "attnrun/c.h"
#include "attnrun/state.h"

struct attnrun_state {
  attnrun::State state;
};

#endif  // ATTNRUN_CAPI_STATE_H_
