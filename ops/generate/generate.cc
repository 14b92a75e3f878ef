#include "ops/generate/generate.h"

#include "ops/generate/constant.h"
#include "ops/generate/range.h"

namespace attnrun {

void RegisterGenerate(OpRegistry& registry) {
  registry.Register(
      {"", "Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, {0, 0}, {1, 1}, Make<Constant>});
  registry.Register(
      {"", "ConstantOfShape", {9, 20, 21, 23, 24, 25}, {1, 1}, {1, 1}, Make<ConstantOfShape>});
  registry.Register({"", "Range", {11, 27}, {3, 3}, {1, 1}, Make<Range>});
}

}  // namespace attnrun
