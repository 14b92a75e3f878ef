// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_
#define ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_

#include <string>
#include <vector>

#include "attnrun/precision_report.h"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// The number of products in each precision, and those that are finer than asked for, with the
// reasons.
std::string ProductsText(const std::vector<ProductPrecision>& products);

// A list of {"node","op","precision","reason"}.
Json ProductsJson(const std::vector<ProductPrecision>& products);

// The report for standard output: a table of the outputs, one of the layers with the largest errors
// of their own, the products' precisions, and a sentence that names the layer that contributes
// most.
std::string PrecisionText(const PrecisionReport& report);

// {"precision","products","outputs","layers","worst_layer"}, with all layers. An infinite figure is
// null.
Json PrecisionJson(const PrecisionReport& report);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_PRECISION_TABLE_H_
