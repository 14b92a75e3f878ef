// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_GROUP_QUERY_INPUTS_H_
#define ATTNRUN_OPS_CONTRIB_GROUP_QUERY_INPUTS_H_

#include <cstdint>

#include "ops/composite/body.h"
#include "ops/contrib/grouped_cache.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {

// The attributes of com.microsoft GroupQueryAttention.
struct GroupedAttention {
  explicit GroupedAttention(AttributeReader& attributes);

  enum Input {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLengths,
    kTotal,
    kCos,
    kSin,
    kPositionIds,
    kScoresBias,
    kSinks,
    kKeyScale,
    kValueScale,
    kQueryNorm,
    kKeyNorm
  };

  int64_t heads;
  int64_t kv_heads;
  float scale;
  float softcap;
  bool causal;
  int64_t window;
  bool rotary;
  bool interleaved;
  bool smooth;
  bool sliding;
  float norm_epsilon;
  GroupedCache key_cache;
  GroupedCache value_cache;

 private:
  GroupedCache ReadCache(AttributeReader& attributes, const char* quant_type, int scale) const;
};

// The sizes of a node's inputs, after checking that they fit together as far as they are known.
struct GroupedInputs {
  using enum GroupedAttention::Input;

  GroupedInputs(Body& b, const GroupedAttention& attention);

  DataType type = DataType::kUndefined;
  // The number of channels of a head.
  int64_t head_size = 0;
  // The query holds keys and values as well.
  bool packed = false;
  // total_sequence_length, if it is known.
  SymInt total = SymInt::Unknown();

 private:
  void FindHeads(Body& b, const GroupedAttention& attention);
  void CheckCache(Body& b, const GroupedCache& cache, int past, int scale) const;
  void CheckPast(Body& b) const;
  void CheckTotal(Body& b, const GroupedAttention& attention);
};

}  // namespace attnrun::ops::contrib

#endif  // ATTNRUN_OPS_CONTRIB_GROUP_QUERY_INPUTS_H_
