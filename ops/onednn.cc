#include "ops/onednn.h"

#include "oneapi/dnnl/dnnl_config.h"
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

namespace attnrun {

const dnnl::engine& OneDnnEngine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

}  // namespace attnrun
