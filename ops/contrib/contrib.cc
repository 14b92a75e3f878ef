#include "ops/contrib/contrib.h"

#include "ops/contrib/activations.h"
#include "ops/contrib/products.h"
#include "ops/contrib/skip_normalization.h"

namespace attnrun {
namespace {

// Fills in an attribute of a class that serves several operators.
template <typename OpClass, typename Kind>
std::function<std::unique_ptr<Op>(AttributeReader&)> MakeOf(Kind kind) {
  return
      [kind](AttributeReader& attributes) { return std::make_unique<OpClass>(attributes, kind); };
}

}  // namespace

void RegisterContrib(OpRegistry& registry) {
  auto add = [&](const char* name, Arity inputs, Arity outputs,
                 std::function<std::unique_ptr<Op>(AttributeReader&)> make) {
    registry.Register({kContribDomain, name, {1}, inputs, outputs, std::move(make)});
  };
  using Gelu = BiasedActivation::Function;
  add("BiasGelu", {2, 2}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kErf));
  add("Gelu", {1, 1}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kErf));
  add("FastGelu", {1, 2}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kTanh));
  add("QuickGelu", {1, 1}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kSigmoid));
  add("BiasSplitGelu", {2, 2}, {1, 1}, Make<BiasSplitGelu>);
  add("FusedMatMul", {2, 2}, {1, 1}, MakeOf<FusedMatMul>(true));
  add("TransposeMatMul", {2, 2}, {1, 1}, MakeOf<FusedMatMul>(false));
  add("FusedGemm", {2, 3}, {1, 1}, Make<FusedGemm>);
  add("SkipLayerNormalization", {3, 5}, {1, 4}, MakeOf<SkipNormalization>(true));
  add("SkipSimplifiedLayerNormalization", {3, 4}, {1, 4}, MakeOf<SkipNormalization>(false));
}

}  // namespace attnrun
