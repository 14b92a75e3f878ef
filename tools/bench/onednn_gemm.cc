// SPDX-License-Identifier: Apache-2.0
#include "bench/onednn_gemm.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_ukernel.hpp"

namespace attnrun::bench {
namespace {

using dnnl::memory;
constexpr memory::data_type kF32 = memory::data_type::f32;

}  // namespace

Product OneDnnMatmul(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc a_desc({m, k}, kF32, memory::format_tag::ab);
  const memory::desc b_desc({k, n}, kF32, memory::format_tag::ab);
  const memory::desc c_desc({m, n}, kF32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc desc(
      engine, a_desc, memory::desc({k, n}, kF32, memory::format_tag::any), c_desc);
  memory plain(b_desc, engine, const_cast<float*>(b));
  memory packed(desc.weights_desc(), engine);
  dnnl::stream stream(engine);
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  const memory a_memory(a_desc, engine, const_cast<float*>(a));
  const memory c_memory(c_desc, engine, c);
  return [=, primitive = dnnl::matmul(desc)]() mutable {
    primitive.execute(
        stream, {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, c_memory}});
  };
}

#ifdef DNNL_EXPERIMENTAL_UKERNEL
namespace {

class BrgemmDriver {
 public:
  BrgemmDriver(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c)
      : m_(m), k_(k), n_(n), a_(a), c_(c) {
    if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core) width_ = 32;
    packed_.resize(k * n);
    for (int64_t column = 0; column < n; column += width_) {
      const int64_t width = std::min(width_, n - column);
      float* panel = packed_.data() + column * k;
      for (int64_t i = 0; i < k; ++i) std::copy_n(b + i * n + column, width, panel + i * width);
    }
    const int64_t panels = (n + width_ - 1) / width_;
    for (int64_t row = 0; row < m; row += kRows) {
      for (int64_t depth = 0; depth < k; depth += kDepth) {
        Make(std::min(kRows, m - row), n - (panels - 1) * width_, std::min(kDepth, k - depth),
             depth > 0);
        Make(std::min(kRows, m - row), std::min(width_, n), std::min(kDepth, k - depth), depth > 0);
      }
    }
  }

  void Run() const {
    ParallelFor((n_ + width_ - 1) / width_, 1, [&](int64_t begin, int64_t end) {
      std::vector<char> scratch(scratch_size_);
      const std::vector<std::pair<memory::dim, memory::dim>> offsets = {{0, 0}};
      for (int64_t block = 0; block < m_; block += kRowBlock) {
        for (int64_t depth = 0; depth < k_; depth += kDepth) {
          for (int64_t column = begin * width_; column < std::min(end * width_, n_);
               column += width_) {
            const int64_t width = std::min(width_, n_ - column);
            for (int64_t row = block; row < std::min(block + kRowBlock, m_); row += kRows) {
              kernels_
                  .at({std::min(kRows, m_ - row), width, std::min(kDepth, k_ - depth), depth > 0})
                  .execute(a_ + row * k_ + depth, packed_.data() + column * k_ + depth * width,
                           offsets, c_ + row * n_ + column, scratch.data());
            }
          }
        }
      }
    });
  }

 private:
  static constexpr int64_t kRows = 48;
  static constexpr int64_t kRowBlock = 240;
  static constexpr int64_t kDepth = 384;

  void Make(int64_t rows, int64_t columns, int64_t depth, bool accumulate) {
    dnnl::ukernel::brgemm kernel(rows, columns, depth, 1, k_, columns, n_, kF32, kF32, kF32);
    kernel.set_add_C(accumulate);
    kernel.finalize();
    kernel.generate();
    scratch_size_ = std::max(scratch_size_, kernel.get_scratchpad_size());
    kernels_.emplace(std::tuple(rows, columns, depth, accumulate), std::move(kernel));
  }

  const int64_t m_;
  const int64_t k_;
  const int64_t n_;
  const float* const a_;
  float* const c_;
  int64_t width_ = 64;
  size_t scratch_size_ = 1;
  std::vector<float> packed_;
  std::map<std::tuple<int64_t, int64_t, int64_t, bool>, dnnl::ukernel::brgemm> kernels_;
};

}  // namespace

Product OneDnnBrgemm(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c) {
  return [driver = std::make_shared<BrgemmDriver>(m, k, n, a, b, c)] { driver->Run(); };
}
#else
Product OneDnnBrgemm(int64_t, int64_t, int64_t, const float*, const float*, float*) {
  return nullptr;
}
#endif

}  // namespace attnrun::bench
