#include "ops/matmul/brgemm.h"

#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_config.h"
#ifdef DNNL_EXPERIMENTAL_UKERNEL
#include "oneapi/dnnl/dnnl_ukernel.hpp"
#endif

namespace attnrun {
namespace {

#ifdef DNNL_EXPERIMENTAL_UKERNEL

class Generated final : public Brgemm {
 public:
  explicit Generated(dnnl::ukernel::brgemm kernel) : kernel_(std::move(kernel)) {}

  void Multiply(const float* a, const float* b, float* c) const override {
    // The batch of one: A and B begin where they are given.
    static const auto* const offsets =
        new std::vector<std::pair<dnnl::memory::dim, dnnl::memory::dim>>{{0, 0}};
    kernel_.execute(a, b, *offsets, c, nullptr);
  }

 private:
  const dnnl::ukernel::brgemm kernel_;
};

// Null if oneDNN has no such kernel that does without scratch space and reads B as it lies.
std::unique_ptr<const Brgemm> Generate(const BrgemmShape& s) {
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  try {
    dnnl::ukernel::brgemm kernel(s.rows, s.columns, s.k, 1, s.lda, s.ldb, s.ldc, kFloat, kFloat,
                                 kFloat);
    kernel.set_add_C(s.accumulate);
    kernel.finalize();
    if (kernel.get_B_pack_type() != dnnl::ukernel::pack_type::no_trans ||
        kernel.get_scratchpad_size() > 0) {
      return nullptr;
    }
    kernel.generate();
    return std::make_unique<Generated>(std::move(kernel));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

#else

std::unique_ptr<const Brgemm> Generate(const BrgemmShape&) { return nullptr; }

#endif

// Null where there is none, so that oneDNN is asked once.
struct Cache {
  std::shared_mutex mutex;
  absl::flat_hash_map<BrgemmShape, std::unique_ptr<const Brgemm>> kernels;
};

Cache& GetCache() {
  // Never destroyed: sessions may outlive static destruction.
  static auto* const cache = new Cache;
  return *cache;
}

}  // namespace

const Brgemm* Brgemm::Get(const BrgemmShape& shape) {
  // A model has a dozen; this is some megabytes.
  constexpr size_t kMost = 1024;
  Cache& cache = GetCache();
  {
    const std::shared_lock<std::shared_mutex> lock(cache.mutex);
    const auto it = cache.kernels.find(shape);
    if (it != cache.kernels.end()) return it->second.get();
    if (cache.kernels.size() >= kMost) return nullptr;
  }
  const std::lock_guard<std::shared_mutex> lock(cache.mutex);
  auto& kernel = cache.kernels[shape];
  if (kernel == nullptr) kernel = Generate(shape);
  return kernel.get();
}

}  // namespace attnrun
