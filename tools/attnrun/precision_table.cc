// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/precision_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// Layers listed in the text report; --json lists all.
constexpr size_t kListed = 10;

std::string Percent(double share) { return absl::StrFormat("%.3g %%", 100 * share); }

std::string OutputsText(const PrecisionReport& report) {
  Table table("rrrrrl");
  table.Add({"largest", "rms", "float32 rms", "relative", "cosine", "output"});
  for (const OutputPrecision& output : report.outputs) {
    const PrecisionError& error = output.error;
    if (!error.incomparable.empty()) {
      table.Add({"", "", "", "", "", absl::StrCat(output.name, ": ", error.incomparable)});
      continue;
    }
    table.Add({absl::StrFormat("%.3g", error.largest), absl::StrFormat("%.3g", error.rms),
               absl::StrFormat("%.3g", error.float32_rms), Percent(error.relative_rms()),
               absl::StrFormat("%.8f", error.cosine), output.name});
  }
  return table.Text();
}

// The places of the layers, those with the largest errors of their own first.
std::vector<size_t> WorstFirst(const std::vector<LayerPrecision>& layers) {
  std::vector<size_t> order(layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&layers](size_t a, size_t b) {
    return layers[a].own.relative_rms() > layers[b].own.relative_rms();
  });
  return order;
}

std::string LayersText(const PrecisionReport& report) {
  Table table("rrrrlll");
  table.Add({"own", "accumulated", "largest", "cosine", "kernel", "op", "node"});
  std::vector<size_t> order = WorstFirst(report.layers);
  order.resize(std::min(kListed, order.size()));
  for (const size_t i : order) {
    const LayerPrecision& layer = report.layers[i];
    const PrecisionError& error = layer.accumulated;
    // Own errors always compare, since shapes of products do not depend on values.
    if (!error.incomparable.empty()) {
      table.Add({Percent(layer.own.relative_rms()), "", "", "", layer.kernel, layer.op_type,
                 absl::StrCat(layer.node, ": ", error.incomparable)});
      continue;
    }
    table.Add({Percent(layer.own.relative_rms()), Percent(error.relative_rms()),
               absl::StrFormat("%.3g", error.largest), absl::StrFormat("%.8f", error.cosine),
               layer.kernel, layer.op_type, layer.node});
  }
  return table.Text();
}

std::string Verdict(const PrecisionReport& report) {
  const absl::string_view precision = Name(report.precision);
  if (report.layers.empty()) return absl::StrCat("no layer computes in ", precision, "\n");
  if (!report.worst_layer.has_value()) return "no layer has an error of its own\n";
  const LayerPrecision& worst = report.layers[*report.worst_layer];
  return absl::StrCat("'", Printable(worst.node), "' (", Printable(worst.op_type),
                      ") contributes most: on the inputs of float32, its output in ", precision,
                      " differs by ", Percent(worst.own.relative_rms()), "\n");
}

// "48 int8, 2 float32".
std::string CountsText(const std::vector<ProductPrecision>& products) {
  std::map<Precision, int> counts;
  for (const ProductPrecision& product : products) ++counts[product.precision];
  return absl::StrJoin(counts, ", ", [](std::string* text, const auto& count) {
    absl::StrAppend(text, count.second, " ", Name(count.first));
  });
}

Json ToJson(const PrecisionError& error) {
  if (!error.incomparable.empty()) return {{"incomparable", error.incomparable}};
  return {{"largest", error.largest},
          {"rms", error.rms},
          {"float32_rms", error.float32_rms},
          {"relative_rms", error.relative_rms()},
          {"cosine", error.cosine}};
}

Json ToJson(const LayerPrecision& layer) {
  return {{"node", layer.node},       {"op", layer.op_type},
          {"kernel", layer.kernel},   {"output", layer.output},
          {"own", ToJson(layer.own)}, {"accumulated", ToJson(layer.accumulated)}};
}

}  // namespace

std::string ProductsText(const std::vector<ProductPrecision>& products) {
  if (products.empty()) return "products: all float32\n";
  Table finer("llll");
  for (const ProductPrecision& product : products) {
    if (product.reason.empty()) continue;
    finer.Add(
        {std::string(Name(product.precision)), product.op_type, product.node, product.reason});
  }
  return absl::StrCat("products: ", CountsText(products), "\n", finer.Text());
}

Json ProductsJson(const std::vector<ProductPrecision>& products) {
  Json list = Json::array();
  for (const ProductPrecision& product : products) {
    list.push_back({{"node", product.node},
                    {"op", product.op_type},
                    {"precision", std::string(Name(product.precision))},
                    {"reason", product.reason}});
  }
  return list;
}

std::string PrecisionText(const PrecisionReport& report) {
  std::string text = absl::StrCat("the outputs in ", Name(report.precision),
                                  ", compared with those in float32\n", OutputsText(report), "\n");
  if (!report.layers.empty()) {
    absl::StrAppend(&text, "the layers with the largest errors of their own, ",
                    std::min(kListed, report.layers.size()), " of ", report.layers.size(),
                    ", worst first (largest and cosine: accumulated)\n", LayersText(report), "\n");
  }
  if (!report.products.empty()) absl::StrAppend(&text, ProductsText(report.products), "\n");
  return text + Verdict(report);
}

Json PrecisionJson(const PrecisionReport& report) {
  Json outputs = Json::array();
  for (const OutputPrecision& output : report.outputs) {
    outputs.emplace_back(Json{{"name", output.name}}).update(ToJson(output.error));
  }
  Json layers = Json::array();
  for (const LayerPrecision& layer : report.layers) layers.push_back(ToJson(layer));
  Json worst;
  if (report.worst_layer.has_value()) worst = report.layers[*report.worst_layer].node;
  return {{"precision", std::string(Name(report.precision))},
          {"products", ProductsJson(report.products)},
          {"outputs", outputs},
          {"layers", layers},
          {"worst_layer", worst}};
}

}  // namespace attnrun::cli
