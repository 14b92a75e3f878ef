// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {

absl::StatusOr<int> ListOperators(const Options& options) {
  Json list = Json::array();
  Table table("ll");
  for (const SupportedOp& op : SupportedOperators()) {
    const std::string name =
        op.domain.empty() ? op.op_type : absl::StrCat(op.domain, ".", op.op_type);
    list.push_back({{"op", name}, {"since", op.since}});
    table.Add({name, absl::StrJoin(op.since, " ")});
  }
  if (options.json) {
    PrintJson(list);
  } else {
    std::cout << table.Text();
  }
  return kFine;
}

}  // namespace attnrun::cli
