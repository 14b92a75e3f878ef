// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_PRODUCT_PRECISIONS_H_
#define ATTNRUN_EXECUTION_PRODUCT_PRECISIONS_H_

#include <vector>

#include "attnrun/precision_report.h"
#include "execution/plan.h"

namespace attnrun::exec {

// See Session::ProductPrecisions. `asked`: the precision of the plan's kernels.
std::vector<ProductPrecision> ProductPrecisionsOf(const Plan& plan, Precision asked);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_PRODUCT_PRECISIONS_H_
