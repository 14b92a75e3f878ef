// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_REGISTRY_H_
#define ATTNRUN_OPS_INTERFACE_REGISTRY_H_

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hash_map.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/traits.h"

namespace attnrun::ops {

class HasBody;

// Least and greatest number of inputs or outputs.
struct Arity {
  int min = 0;
  int max = 0;
  // True for a list of tensors, as Concat takes: none between others may be left out.
  bool is_list = false;
};
inline constexpr int kVariadic = std::numeric_limits<int>::max();
constexpr Arity ListOf(int min, int max = kVariadic) { return {min, max, true}; }

// Makes an operator from its node's attributes. Remembers of the operator's class whether it
// overrides Op::MakeKernel and has a body, which a function that returns an Op would hide.
class OpFactory {
 public:
  // `make` takes an AttributeReader& and returns a std::unique_ptr to the operator's own class.
  template <typename Function>
  OpFactory(Function make)  // NOLINT(google-explicit-constructor): registrations read as a table.
      : overrides_kernel_(OverridesMakeKernel<Made<Function>>()),
        has_body_(std::is_base_of_v<HasBody, Made<Function>>),
        make_(std::move(make)) {}

  std::unique_ptr<Op> operator()(AttributeReader& attributes) const { return make_(attributes); }
  bool overrides_kernel() const { return overrides_kernel_; }
  bool has_body() const { return has_body_; }

 private:
  template <typename Function>
  using Made = typename std::invoke_result_t<Function, AttributeReader&>::element_type;

  // A pointer to an inherited member function has the type of the base class.
  template <typename OpClass>
  static constexpr bool OverridesMakeKernel() {
    static_assert(!std::is_same_v<OpClass, Op>, "the class of the operator is not known");
    return !std::is_same_v<decltype(&OpClass::MakeKernel), decltype(&Op::MakeKernel)>;
  }

  bool overrides_kernel_;
  bool has_body_;
  std::function<std::unique_ptr<Op>(AttributeReader&)> make_;
};

// Everything the runtime knows of an operator.
struct OpDef {
  // "" is ai.onnx.
  std::string domain;
  std::string name;
  // Every since_version of the operator's schema that applies to opsets 7 to 28, ascending. The
  // first one is in force at opset 7, or is the operator's first.
  std::vector<int> since;
  Arity inputs;
  Arity outputs;
  OpFactory make;
  OpTraits traits = {};
  // The class serves several operators, and its kernel never accepts this one.
  bool reference_only = false;

  // True if there is an optimized kernel. The kernel may still decline some types and shapes.
  bool has_kernel() const { return make.overrides_kernel() && !reference_only; }
  // True if the optimizer can put other operators in its place.
  bool has_body() const { return make.has_body(); }
};

// The opsets of ai.onnx that attnrun reads.
inline constexpr int kOldestOpset = 7;
inline constexpr int kNewestOpset = 28;

// The domain of ONNX Runtime's own operators, which docs/ContribOperators.md describes there. They
// have one version.
inline constexpr char kContribDomain[] = "com.microsoft";

// The operators by domain and name. They are registered from an explicit list: see Get.
class OpRegistry {
 public:
  // All operators of attnrun.
  static const OpRegistry& Get();

  // Precondition: not registered before.
  void Register(OpDef def);

  // Null if unknown.
  const OpDef* Find(absl::string_view domain, absl::string_view name) const;

  // The since_version of the node's operator that its opset selects; kUnimplemented if the operator
  // or the version is not covered.
  absl::StatusOr<int> Version(const Node& node) const;

  // The node's operator. kUnimplemented as Version; kInvalidArgument for a wrong number of inputs
  // or outputs, a missing required input and wrong or unknown attributes. The message does not name
  // the node.
  absl::StatusOr<std::unique_ptr<Op>> Create(const Node& node) const;

  // Adds to a node's rule the tracks that its operator adds (Op::Axes), or those that follow from
  // its traits. None if there is no such operator.
  void AddAxes(const Node& node, AxesContext& context) const;

  std::vector<const OpDef*> All() const;

 private:
  // In the order of their domains and names.
  std::map<std::pair<std::string, std::string>, OpDef> defs_;
  // The same by views of these keys: the optimizer asks for traits all the time.
  HashMap<std::pair<absl::string_view, absl::string_view>, const OpDef*> by_name_;
};

// The traits of a node's operator; none set if there is no such operator.
inline const OpTraits& TraitsOf(const Node& node) {
  static constexpr OpTraits kNone = {};
  const OpDef* def = OpRegistry::Get().Find(node.domain(), node.op_type());
  return def == nullptr ? kNone : def->traits;
}

// The factory for an operator class that is constructed from an AttributeReader.
template <typename OpClass>
std::unique_ptr<OpClass> Make(AttributeReader& attributes) {
  return std::make_unique<OpClass>(attributes);
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_REGISTRY_H_
