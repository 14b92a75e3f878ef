// SPDX-License-Identifier: Apache-2.0
// Prints the operators that attnrun registers as JSON, for since_versions.py.
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ops/interface/registry.h"

namespace {

void AppendJson(std::string* out, const attnrun::ops::OpDef* def) {
  absl::StrAppendFormat(
      out,
      R"({"domain": "%s", "name": "%s", "since": [%s], "inputs": [%d, %d], "outputs": [%d, %d]})",
      def->domain, def->name, absl::StrJoin(def->since, ", "), def->inputs.min, def->inputs.max,
      def->outputs.min, def->outputs.max);
}

}  // namespace

int main() {
  absl::PrintF("[%s]\n", absl::StrJoin(attnrun::ops::OpRegistry::Get().All(), ",\n", AppendJson));
}
