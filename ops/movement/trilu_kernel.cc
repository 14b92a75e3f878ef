// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/movement/strided_view.h"
#include "ops/movement/trilu.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

class TriluKernel final : public Kernel {
 public:
  explicit TriluKernel(bool upper) : upper_(upper) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t k, TriluDiagonal(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    if (x.num_elements() == 0) return absl::OkStatus();
    const int64_t rows = x.dim(x.rank() - 2);
    const int64_t columns = x.dim(x.rank() - 1);
    const int width = BitWidth(x.type()) / 8;
    ParallelFor(x.num_elements() / columns, GrainOf(columns * width),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t first = i * columns * width;
                    CopyRow(x.data<char>() + first, y->mutable_data<char>() + first, i % rows + k,
                            columns, width);
                  }
                });
    return absl::OkStatus();
  }

 private:
  // `diagonal`: the column at which the diagonal crosses the row, perhaps outside it. `target` may
  // be `source`.
  void CopyRow(const char* source, char* target, int64_t diagonal, int64_t columns,
               int width) const {
    const int64_t cut = std::clamp<int64_t>(upper_ ? diagonal : diagonal + 1, 0, columns) * width;
    const int64_t end = columns * width;
    const int64_t kept = upper_ ? cut : 0;
    const int64_t kept_end = upper_ ? end : cut;
    if (source != target) std::memcpy(target + kept, source + kept, kept_end - kept);
    std::memset(target + (upper_ ? 0 : cut), 0, upper_ ? cut : end - cut);
  }

  const bool upper_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Trilu::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<TriluKernel>(upper_);
}

}  // namespace attnrun::ops
