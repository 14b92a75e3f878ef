// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

Json ToJson(const SupportedOp& op) {
  const std::string name =
      op.domain.empty() ? op.op_type : absl::StrCat(op.domain, ".", op.op_type);
  return {
      {"op", name}, {"since", op.since}, {"kernel", op.has_kernel}, {"expanded", op.is_expanded}};
}

std::string Introduction() {
  const OpsetRange opsets = SupportedOpsets();
  return absl::StrCat(
      "# Supported operators\n"
      "\n"
      "Written by `attnrun ops > docs/operators.md`; a test holds this page against the program.\n"
      "\n"
      "attnrun reads models of opset ",
      opsets.oldest, " to ", opsets.newest,
      " of ai.onnx. A version is named by the opset that\n"
      "introduced it.\n"
      "\n"
      "- `kernel`: the operator has an optimized kernel. It may decline an element type or a "
      "shape;\n"
      "  that node then runs on the reference code.\n"
      "- `reference`: the operator runs on the reference code, which is correct and slow.\n"
      "- `expanded`: the optimizer replaces the operator by others of this page. Where something\n"
      "  stands in the way, or with `--engine unoptimized`, it runs on the reference code, or on "
      "a\n"
      "  kernel where `kernel` is listed too.\n"
      "\n"
      "`attnrun profile MODEL` names the kernel, or `reference`, for each node of a model;\n"
      "`attnrun inspect MODEL` lists what of a model is not supported, and why.\n");
}

std::string Section(const std::string& domain) {
  if (domain == "attnrun") return "attnrun (written by the optimizer)";
  return domain.empty() ? "ai.onnx" : domain;
}

std::string RunsOn(const SupportedOp& op) {
  if (!op.is_expanded) return op.has_kernel ? "kernel" : "reference";
  return op.has_kernel ? "expanded, kernel" : "expanded";
}

void PrintPage(const std::vector<SupportedOp>& operators) {
  std::map<std::string, std::string> rows;
  for (const SupportedOp& op : operators) {
    absl::StrAppend(&rows[op.domain], "| ", op.op_type, " | ", absl::StrJoin(op.since, ", "), " | ",
                    RunsOn(op), " |\n");
  }
  std::cout << Introduction();
  for (const auto& [domain, table] : rows) {
    std::cout << "\n## " << Section(domain) << "\n\n"
              << "| operator | versions | runs on |\n| --- | --- | --- |\n"
              << table;
  }
}

}  // namespace

absl::StatusOr<int> ListOperators(const Options& options) {
  const std::vector<SupportedOp> operators = SupportedOperators();
  if (!options.json) {
    PrintPage(operators);
    return kFine;
  }
  Json list = Json::array();
  for (const SupportedOp& op : operators) list.push_back(ToJson(op));
  PrintJson(list);
  return kFine;
}

}  // namespace attnrun::cli
