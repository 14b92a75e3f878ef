// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_
#define ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_

#include <string>

#include "attnrun/precision_report.h"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// The report for standard output: a table of the outputs, one of the layers with the largest errors
// of their own, and a sentence that names the layer that contributes most.
std::string PrecisionText(const PrecisionReport& report);

// {"precision","outputs","layers","worst_layer"}, with all layers. An infinite figure is null.
Json PrecisionJson(const PrecisionReport& report);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_
