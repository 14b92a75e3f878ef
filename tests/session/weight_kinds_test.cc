// SPDX-License-Identifier: Apache-2.0
#include "session/weight_kinds.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/failing_models.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

// The weight cache keeps packed weights of every kind.
namespace attnrun::testing {
namespace {

struct Kind {
  std::string name;
  WeightKind weights;
  Precision precision = Precision::kFloat32;
};

class WeightKindsTest : public ::testing::TestWithParam<Kind> {
 protected:
  // The outputs; with the cache unless `cache` is false.
  TensorMap Run(bool cache = true) {
    SessionOptions options;
    options.precision = GetParam().precision;
    if (cache) options.weight_cache = cache_;
    const auto session = Session::Load(path_, options);
    EXPECT_TRUE(session.ok()) << session.status();
    TensorMap inputs;
    inputs["x"] = input_;
    return session->Run(inputs).value();
  }

  static bool IsNBits() {
    return GetParam().weights == WeightKind::kNBits ||
           GetParam().weights == WeightKind::kNBitsZeroPoints;
  }

  // The only file of this kind.
  std::string File(const std::string& kind) const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(cache_)) {
      if (!absl::EndsWith(entry.path().string(), kind)) continue;
      EXPECT_EQ(found, "");
      found = entry.path().string();
    }
    return found;
  }
  cache::ContentHash Content() const { return cache::ReadSourceStamp(File(".seen"))->content; }
  cache::PackedFile Packed() const {
    return cache::OpenPackedFile(File(".packed"), Content(), std::nullopt).value();
  }

  const TemporaryFolder folder_;
  const std::string cache_ = folder_.path("cache");
  KindModel model_{GetParam().weights};
  const std::string path_ = folder_.Write("m.onnx", model_.model().SerializeAsString());
  const Tensor input_ = model_.Input();
};

TEST_P(WeightKindsTest, TheSecondStartPacksNothing) {
  const TensorMap expected = Run(/*cache=*/false);
  EXPECT_TRUE(SameBits(Run(), expected));
  // Queries, keys and values as one weight, and the last product's; or two convolutions.
  const cache::PackedFile packed = Packed();
  EXPECT_EQ(packed.weights.size(), 2);
  EXPECT_TRUE(SameBits(Run(), expected));
  EXPECT_EQ(Packed().identity, packed.identity) << "nothing was added";
}

// Other bytes under right checksums show that a start uses those of the file.
TEST_P(WeightKindsTest, EveryKeptWeightIsUsed) {
  const TensorMap expected = Run();
  const cache::PackedFile packed = Packed();
  for (const auto& [key, weight] : packed.weights) {
    cache::PackedWeights changed = packed.weights;
    const Tensor& from = weight.parts[0];
    Tensor bytes = Tensor::Allocate(DataType::kUint8, from.shape()).value();
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      bytes.mutable_data<uint8_t>()[i] = from.data<uint8_t>()[i] ^ 0x10;
    }
    changed.at(key).parts[0] = bytes;
    ASSERT_TRUE(cache::WritePackedFile(File(".packed"), Content(), changed).ok());
    EXPECT_FALSE(SameBits(Run(), expected));
  }
}

// A weight whose parts do not fit under right checksums is packed again and replaced.
TEST_P(WeightKindsTest, WeightsThatDoNotFitAreReplaced) {
  const TensorMap expected = Run();
  const cache::PackedFile packed = Packed();
  for (const auto& [key, weight] : packed.weights) {
    std::vector<ops::PackedBytes> lies = {{weight.facts ^ 512, weight.parts}, {weight.facts, {}}};
    for (size_t i = 0; i < weight.parts.size(); ++i) {
      for (const int64_t bytes : {int64_t{0}, weight.parts[i].num_elements() - 64}) {
        lies.push_back(weight);
        lies.back().parts[i] = weight.parts[i].View({bytes}, {1}, 0);
      }
    }
    // Nothing that packing finds out about this kind.
    if (weight.parts.size() == 1 && weight.facts == 0 && !IsNBits()) lies.erase(lies.begin());
    for (const ops::PackedBytes& lie : lies) {
      cache::PackedWeights changed = packed.weights;
      changed.at(key) = lie;
      ASSERT_TRUE(cache::WritePackedFile(File(".packed"), Content(), changed).ok());
      EXPECT_TRUE(SameBits(Run(), expected));
      EXPECT_EQ(Packed().weights.at(key).parts.size(), weight.parts.size());
      EXPECT_EQ(Packed().weights.at(key).facts, weight.facts);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WeightKindsTest,
    ::testing::Values(Kind{"float", WeightKind::kFloat},
                      Kind{"float_bf16", WeightKind::kFloat, Precision::kBfloat16},
                      Kind{"float_int8", WeightKind::kFloat, Precision::kInt8},
                      Kind{"float16", WeightKind::kFloat16},
                      Kind{"float16_int8", WeightKind::kFloat16, Precision::kInt8},
                      Kind{"bfloat16", WeightKind::kBfloat16},
                      Kind{"computed", WeightKind::kComputed},
                      Kind{"dynamic_int8", WeightKind::kDynamicInt8},
                      Kind{"qdq_int8", WeightKind::kQdqInt8}, Kind{"nbits", WeightKind::kNBits},
                      Kind{"nbits_zero_points", WeightKind::kNBitsZeroPoints},
                      Kind{"convolution", WeightKind::kConvolution},
                      Kind{"convolution_bf16", WeightKind::kConvolution, Precision::kBfloat16},
                      Kind{"conv_integer", WeightKind::kConvInteger}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
