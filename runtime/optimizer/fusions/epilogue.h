#ifndef ATTNRUN_OPTIMIZER_FUSIONS_EPILOGUE_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_EPILOGUE_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// What follows a product becomes a part of it, done on each tile while it is in cache:
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear        ->           Linear {activation = "Gelu"}
//      |                          |
//    Gelu                         y
//      |
//      y
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear   r    ->           Linear -- r
//        \  /                     |
//        Add                      y
//         |
//         y
namespace attnrun {

absl::StatusOr<int> FuseActivation(PassContext& context);
absl::StatusOr<int> FuseResidual(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_EPILOGUE_H_
