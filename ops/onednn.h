#ifndef ATTNRUN_OPS_ONEDNN_H_
#define ATTNRUN_OPS_ONEDNN_H_

#include "oneapi/dnnl/dnnl.hpp"

// What the users of oneDNN's primitives share.
namespace attnrun {

// The CPU. Never destroyed: sessions may outlive static destruction.
const dnnl::engine& OneDnnEngine();

// While it exists, oneDNN starts no threads for what this thread asks of it: work is split by
// ParallelFor, and OpenMP's threads would stay awake on cores that others need.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_ONEDNN_H_
