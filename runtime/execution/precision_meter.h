// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_PRECISION_METER_H_
#define ATTNRUN_EXECUTION_PRECISION_METER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/precision_report.h"
#include "core/interrupt.h"
#include "execution/plan.h"

namespace attnrun::exec {

// The plans of one graph with kernels of two precisions.
struct PlanPair {
  const Plan& float32;
  const Plan& lower;
};

// Runs both plans on the same inputs (as in Execute) and compares outputs and layers. Sets neither
// the report's precision nor the names of outputs. Keeps the output of each layer from the first
// run to the second. Never throws. Thread-safe.
absl::StatusOr<PrecisionReport> MeasurePrecision(const PlanPair& plans,
                                                 absl::Span<const Tensor> inputs,
                                                 Interrupt& interrupt, Allocator& allocator);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_PRECISION_METER_H_
