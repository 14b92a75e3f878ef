// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_

#include <algorithm>
#include <cstdint>

#include "ops/gemm/packed_store.h"
#include "ops/gemm/weight_format.h"
#include "weight_cache/content_hash.h"

namespace attnrun::testing {

// The contents of the model that the packed files of the target and of its seeds belong to.
inline constexpr cache::ContentHash kSeedContent = {1, 2, 3};

// The weight that the target takes an entry for: these are the first words of its key.
struct SeedWeight {
  ops::PackedKind kind = ops::PackedKind::kMatrix;
  int64_t rows = 1;
  int64_t columns = 1;
  // For an n-bit weight.
  int bits = 4;
  // For a matrix.
  ops::WeightFormat format = ops::WeightFormat::kFloat32;

  ops::PackedKey Key() const {
    return {static_cast<uint64_t>(kind), static_cast<uint64_t>(rows),
            static_cast<uint64_t>(columns), static_cast<uint64_t>(bits),
            static_cast<uint64_t>(format)};
  }
  // Any key tells of some small weight.
  static SeedWeight Of(const ops::PackedKey& key) {
    constexpr uint64_t kMost = 300;
    const auto word = [&](size_t i) { return i < key.size() ? key[i] : 0; };
    SeedWeight weight;
    weight.kind = static_cast<ops::PackedKind>(word(0) % 3);
    weight.rows = static_cast<int64_t>(1 + (word(1) - 1) % kMost);
    weight.columns = static_cast<int64_t>(1 + (word(2) - 1) % kMost);
    weight.bits = word(3) == 2 || word(3) == 8 ? static_cast<int>(word(3)) : 4;
    weight.format = static_cast<ops::WeightFormat>(
        std::min<uint64_t>(word(4), static_cast<uint64_t>(ops::kLastWeightFormat)));
    return weight;
  }
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_
