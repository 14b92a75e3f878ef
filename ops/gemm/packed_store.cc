// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/packed_store.h"

namespace attnrun::ops {
namespace {

thread_local PackedStore* current_store = nullptr;

}  // namespace

ScopedPackedStore::ScopedPackedStore(PackedStore* store) : outer_(current_store) {
  current_store = store;
}
ScopedPackedStore::~ScopedPackedStore() { current_store = outer_; }

PackedStore* ScopedPackedStore::Current() { return current_store; }

}  // namespace attnrun::ops
