#include "ops/gather/gather.h"

#include "ops/gather/gather_op.h"

namespace attnrun {

void RegisterGather(OpRegistry& registry) {
  registry.Register({"", "Gather", {1, 11, 13}, {2, 2}, {1, 1}, Make<Gather>});
}

}  // namespace attnrun
