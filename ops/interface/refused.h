// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_REFUSED_H_
#define ATTNRUN_OPS_INTERFACE_REFUSED_H_

#include "absl/strings/string_view.h"

namespace attnrun::ops {

// A sentence that says why attnrun does not run an operator, and what to use instead; empty unless
// the operator is left out on purpose.
absl::string_view WhyRefused(absl::string_view domain, absl::string_view name);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_REFUSED_H_
