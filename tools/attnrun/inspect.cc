// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/quote.h"
#include "core/status.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

std::string DomainName(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string QualifiedName(const UnsupportedOp& op) {
  return op.domain.empty() ? op.op_type : absl::StrCat(op.domain, ".", op.op_type);
}

std::string OpsetsText(const ModelInfo& info) {
  return absl::StrJoin(info.opsets, ", ", [](std::string* out, const auto& opset) {
    absl::StrAppend(out, DomainName(opset.first), " ", opset.second);
  });
}

void AddValues(absl::string_view label, const std::vector<ValueInfo>& values, Table& table) {
  for (const ValueInfo& value : values) {
    table.Add({std::string(label), value.name, TypeAndShape(value),
               value.has_default ? "has a default" : ""});
  }
}

std::vector<std::pair<std::string, int64_t>> ByCount(const ModelInfo& info) {
  std::vector<std::pair<std::string, int64_t>> ops(info.op_counts.begin(), info.op_counts.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return ops;
}

void PrintFacts(const Options& options, const ModelInfo& info) {
  Table facts("ll");
  facts.Add({"model", options.model});
  facts.Add({"written by", absl::StrCat(info.producer.empty() ? "unknown" : info.producer,
                                        " (IR version ", info.ir_version, ")")});
  facts.Add({"opsets", OpsetsText(info)});
  if (info.model_version != 0) facts.Add({"version", absl::StrCat(info.model_version)});
  facts.Add({"parameters", absl::StrFormat("%d (%.1f MB)", info.parameters,
                                           static_cast<double>(info.parameter_bytes) / 1e6)});
  facts.Add({"runs with", UsedInstructionSets()});
  std::cout << facts.Text();
}

// Some exporters keep whole configurations in their notes: --json has them in full.
void PrintNotes(const ModelInfo& info) {
  Table notes("lll");
  if (!info.description.empty()) notes.Add({"description", Shortened(info.description), ""});
  for (const auto& [key, value] : info.metadata) {
    notes.Add({"metadata", key, Shortened(value)});
  }
  std::cout << notes.Text();
}

void PrintText(const Options& options, const ModelInfo& info) {
  PrintFacts(options, info);
  PrintNotes(info);
  Table values("llll");
  AddValues("input", info.inputs, values);
  AddValues("output", info.outputs, values);
  Table ops("lrl");
  for (const auto& [name, count] : ByCount(info)) {
    ops.Add({"op", absl::StrCat(count), name});
  }
  for (const UnsupportedOp& op : info.unsupported) {
    ops.Add(
        {"unsupported", absl::StrCat(op.count),
         absl::StrCat(QualifiedName(op), ", first in node '", op.first_node, "': ", op.reason)});
  }
  std::cout << values.Text() << ops.Text();
}

Json ValuesJson(const std::vector<ValueInfo>& values) {
  Json list = Json::array();
  for (const ValueInfo& value : values) {
    Json shape;
    if (value.shape.has_value()) {
      shape = Json::array();
      for (const Dim& dim : *value.shape) {
        shape.push_back(dim.is_fixed() ? Json(dim.value) : Json(ToString(dim)));
      }
    }
    list.push_back({{"name", value.name},
                    {"type", std::string(Name(value.type))},
                    {"shape", shape},
                    {"has_default", value.has_default},
                    {"kind", std::string(Name(value.kind))}});
  }
  return list;
}

Json UnsupportedJson(const ModelInfo& info) {
  Json list = Json::array();
  for (const UnsupportedOp& op : info.unsupported) {
    list.push_back({{"op", QualifiedName(op)},
                    {"opset", op.opset},
                    {"nodes", op.count},
                    {"first_node", op.first_node},
                    {"reason", op.reason}});
  }
  return list;
}

void PrintInfoJson(const ModelInfo& info) {
  Json opsets = Json::object();
  for (const auto& [domain, version] : info.opsets) opsets[DomainName(domain)] = version;
  PrintJson({{"producer", info.producer},
             {"domain", info.domain},
             {"model_version", info.model_version},
             {"description", info.description},
             {"metadata", info.metadata},
             {"ir_version", info.ir_version},
             {"opsets", opsets},
             {"inputs", ValuesJson(info.inputs)},
             {"outputs", ValuesJson(info.outputs)},
             {"ops", info.op_counts},
             {"parameters", info.parameters},
             {"parameter_bytes", info.parameter_bytes},
             {"unsupported", UnsupportedJson(info)}});
}

}  // namespace

absl::StatusOr<int> Inspect(const Options& options) {
  ATTNRUN_ASSIGN_OR_RETURN(const ModelInfo info, InspectModel(options.model));
  if (options.json) {
    PrintInfoJson(info);
  } else {
    PrintText(options, info);
  }
  return kFine;
}

}  // namespace attnrun::cli
