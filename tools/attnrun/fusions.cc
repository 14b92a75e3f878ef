// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/output_file.h"
#include "tools/attnrun/precision_table.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

using OpCounts = std::map<std::string, int64_t>;

// The effect of the optimizer on a model.
struct FusionReport {
  std::vector<Rewrite> rewrites;
  OpCounts before;
  OpCounts after;
  // In a session of a lower precision.
  std::optional<std::vector<ProductPrecision>> products;
};

int64_t Total(const OpCounts& counts) {
  int64_t total = 0;
  for (const auto& [op, count] : counts) total += count;
  return total;
}

int64_t CountOf(const OpCounts& counts, const std::string& op) {
  const auto found = counts.find(op);
  return found == counts.end() ? 0 : found->second;
}

// Prints a line per pass that applied rewrites: their number, the nodes replaced, the nodes added.
void PrintPasses(const FusionReport& report) {
  struct Sum {
    int64_t applied = 0;
    size_t nodes = 0;
    size_t into = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Sum> sums;
  for (const Rewrite& rewrite : report.rewrites) {
    if (!rewrite.applied) continue;
    if (sums[rewrite.pass].applied++ == 0) order.push_back(rewrite.pass);
    sums[rewrite.pass].nodes += rewrite.nodes.size();
    sums[rewrite.pass].into += rewrite.into.size();
  }
  Table table("lrl");
  for (const std::string& pass : order) {
    const Sum& sum = sums[pass];
    table.Add({pass, absl::StrCat(sum.applied),
               absl::StrCat(sum.applied == 1 ? "rewrite, " : "rewrites, ", sum.nodes, " nodes -> ",
                            sum.into)});
  }
  std::cout << table.Text();
}

void PrintNearMisses(const FusionReport& report) {
  Table table("lll");
  for (const Rewrite& rewrite : report.rewrites) {
    if (rewrite.applied) continue;
    const std::string nodes = absl::StrJoin(rewrite.nodes, ", ");
    table.Add({rewrite.pass, rewrite.body.empty() ? nodes : absl::StrCat(rewrite.body, "/", nodes),
               rewrite.reason});
  }
  const std::string text = table.Text();
  std::cout << (text.empty() ? "no near misses\n" : "near misses:\n" + text);
}

void PrintCounts(const FusionReport& report) {
  OpCounts all = report.before;
  all.insert(report.after.begin(), report.after.end());
  Table table("lrlr");
  for (const auto& [op, count] : all) {
    table.Add({op, absl::StrCat(CountOf(report.before, op)), "->",
               absl::StrCat(CountOf(report.after, op))});
  }
  table.Add({"all", absl::StrCat(Total(report.before)), "->", absl::StrCat(Total(report.after))});
  std::cout << table.Text();
}

Json ToJson(const FusionReport& report) {
  Json rewrites = Json::array();
  for (const Rewrite& rewrite : report.rewrites) {
    rewrites.push_back({{"pass", rewrite.pass},
                        {"applied", rewrite.applied},
                        {"body", rewrite.body},
                        {"nodes", rewrite.nodes},
                        {"into", rewrite.into},
                        {"reason", rewrite.reason}});
  }
  Json json = {{"rewrites", rewrites}, {"ops_before", report.before}, {"ops_after", report.after}};
  if (report.products.has_value()) json["products"] = ProductsJson(*report.products);
  return json;
}

}  // namespace

absl::StatusOr<int> ReportFusions(const Options& options) {
  FusionReport report;
  ATTNRUN_ASSIGN_OR_RETURN(const ModelInfo info, InspectModel(options.model));
  ATTNRUN_ASSIGN_OR_RETURN(const Session session, Session::Load(options.model, options.session));
  report.rewrites = session.Rewrites();
  report.before = info.op_counts;
  report.after = session.OpCounts();
  if (options.session.precision != Precision::kFloat32) {
    report.products = session.ProductPrecisions();
  }
  if (!options.dot.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::string drawing, DrawModel(options.model, options.session));
    ATTNRUN_RETURN_IF_ERROR(WriteText(options.dot, drawing));
  }
  if (options.graph) {
    std::cout << session.GraphText();
    return kFine;
  }
  if (options.json) {
    PrintJson(ToJson(report));
    return kFine;
  }
  PrintPasses(report);
  std::cout << "\n";
  PrintNearMisses(report);
  std::cout << "\n";
  PrintCounts(report);
  if (report.products.has_value()) std::cout << "\n" << ProductsText(*report.products);
  return kFine;
}

}  // namespace attnrun::cli
