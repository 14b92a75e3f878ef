// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_KNOWN_FUNCTIONS_H_
#define ATTNRUN_KNOWN_FUNCTIONS_H_

#include "loader/loader.h"

namespace attnrun {

// Options that keep calls of functions that are operators of attnrun, by their domain and name,
// with inputs and attributes that it takes. An exporter that writes an operator of ONNX Runtime
// puts its body beside it, for runtimes that do not know it.
const loader::LoadOptions& KnownFunctions();

}  // namespace attnrun

#endif  // ATTNRUN_KNOWN_FUNCTIONS_H_
