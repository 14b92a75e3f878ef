// SPDX-License-Identifier: Apache-2.0
#include "bench/onednn_brgemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_ukernel.hpp"

namespace attnrun::bench {

#ifdef DNNL_EXPERIMENTAL_UKERNEL
namespace {

using dnnl::memory;
using dnnl::ukernel::brgemm;
using dnnl::ukernel::pack_type;
constexpr int64_t kColumns = 64;
// The most rows of a call, and of K, whose panel stays in the second-level cache.
constexpr int64_t kRows = 32;
constexpr int64_t kDepth = 1024;

struct Extents {
  int64_t m;
  int64_t k;
  int64_t n;
};

struct Types {
  memory::data_type a;
  memory::data_type b;
  memory::data_type c;
};

// The C++ types hold what `types` says.
template <typename A, typename B, typename C>
class Driver {
 public:
  Driver(const Extents& extents, const Types& types, const A* a, const B* b, C* c)
      : extents_(extents),
        rows_(extents.m % kRows == 0 ? kRows : 16),
        depth_(extents.k / ((extents.k + kDepth - 1) / kDepth)),
        a_(a),
        c_(c),
        kernels_{Make(types, false), Make(types, true)} {
    packed_.resize(extents.k * extents.n);
    const dnnl::ukernel::transform pack = Packing(types);
    for (int64_t column = 0; column < extents.n; column += kColumns) {
      for (int64_t k = 0; k < extents.k; k += depth_) {
        pack.execute(b + k * extents.n + column, Packed(column, k));
      }
    }
  }

  void Run() {
    ParallelFor(extents_.n / kColumns, 1, [&](int64_t begin, int64_t end) {
      std::vector<char> scratch(kernels_[1].get_scratchpad_size() + 64);
      for (int64_t panel = begin; panel < end; ++panel) {
        for (int64_t k = 0; k < extents_.k; k += depth_) Multiply(panel * kColumns, k, scratch);
      }
      brgemm::release_hw_context();
    });
  }

 private:
  brgemm Make(const Types& types, bool accumulate) const {
    brgemm kernel(rows_, kColumns, depth_, 1, extents_.k, kColumns, extents_.n, types.a, types.b,
                  types.c);
    kernel.set_add_C(accumulate);
    kernel.finalize();
    kernel.generate();
    return kernel;
  }

  dnnl::ukernel::transform Packing(const Types& types) const {
    dnnl::ukernel::transform pack(depth_, kColumns, pack_type::no_trans, extents_.n, kColumns,
                                  types.b, types.b);
    pack.generate();
    return pack;
  }

  B* Packed(int64_t column, int64_t k) {
    return packed_.data() + column * extents_.k + k * kColumns;
  }

  void Multiply(int64_t column, int64_t k, std::vector<char>& scratch) {
    const std::vector<std::pair<memory::dim, memory::dim>> offsets = {{0, 0}};
    const brgemm& kernel = kernels_[k > 0 ? 1 : 0];
    kernel.set_hw_context();
    for (int64_t row = 0; row < extents_.m; row += rows_) {
      kernel.execute(a_ + row * extents_.k + k, Packed(column, k), offsets,
                     c_ + row * extents_.n + column, scratch.data());
    }
  }

  const Extents extents_;
  const int64_t rows_;
  const int64_t depth_;
  const A* const a_;
  C* const c_;
  // Without and with what C holds already.
  const std::array<brgemm, 2> kernels_;
  std::vector<B> packed_;
};

template <typename A, typename B, typename C>
Product Make(const Extents& extents, const Types& types, const A* a, const B* b, C* c) {
  try {
    auto driver = std::make_shared<Driver<A, B, C>>(extents, types, a, b, c);
    return [driver] { driver->Run(); };
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace

Product OneDnnBf16Brgemm(int64_t m, int64_t k, int64_t n, const uint16_t* a, const uint16_t* b,
                         float* c) {
  using enum memory::data_type;
  return Make({m, k, n}, {bf16, bf16, f32}, a, b, c);
}

Product OneDnnInt8Brgemm(int64_t m, int64_t k, int64_t n, const uint8_t* a, const int8_t* b,
                         int32_t* c) {
  using enum memory::data_type;
  return Make({m, k, n}, {u8, s8, s32}, a, b, c);
}
#else
Product OneDnnBf16Brgemm(int64_t, int64_t, int64_t, const uint16_t*, const uint16_t*, float*) {
  return nullptr;
}

Product OneDnnInt8Brgemm(int64_t, int64_t, int64_t, const uint8_t*, const int8_t*, int32_t*) {
  return nullptr;
}
#endif

}  // namespace attnrun::bench
