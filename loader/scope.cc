// SPDX-License-Identifier: Apache-2.0
#include "loader/scope.h"

namespace attnrun::loader {

std::optional<Value*> Scope::Find(const std::string& name) {
  if (const auto it = values.find(name); it != values.end()) return it->second;
  if (const auto it = formal_inputs.find(name); it != formal_inputs.end()) {
    if (it->second.empty()) return nullptr;
    return caller->Find(it->second);
  }
  if (enclosing == nullptr) return std::nullopt;
  const std::optional<Value*> outer = enclosing->Find(name);
  if (!outer.has_value() || *outer == nullptr) return outer;
  // Cannot fail, because the name is unique.
  Value* capture = *graph->AddCapture(graph->UniqueName((*outer)->name()), *outer);
  values[name] = capture;
  return capture;
}

}  // namespace attnrun::loader
