// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/weight_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "loader/model_maker.h"
#include "ops/gemm/int8_weight.h"
#include "ops/gemm/packed_matrix.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// The "model" file is just one matrix [64, 64], because the cache does not look at the rest of it.
class WeightCacheTest : public ::testing::Test {
 protected:
  WeightCacheTest() {
    std::mt19937 generator(1);
    floats_ = RandomFloats({64, 64}, generator);
    const std::string path = folder_.Write(
        "model", std::string(static_cast<const char*>(floats_.raw()), floats_.byte_size()));
    // The cache does not remember files that are too new.
    const struct timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    file_ = FileBytes::Open(path).value();
  }

  cache::WeightCache Cache() const { return {folder_.path("cache"), {file_}}; }
  // Packs a weight as a session does.
  static void Keep(cache::WeightCache& cache, const ops::SideBySide& weight) {
    ops::KernelContext context;
    context.packed_store = &cache;
    ASSERT_TRUE(ops::PackedMatrix::Pack(weight, context).ok());
  }
  // The weight as a later session finds it; null if it does not.
  static std::shared_ptr<const ops::PackedMatrix> Find(
      cache::WeightCache& cache, const ops::SideBySide& weight,
      ops::WeightFormat format = ops::WeightFormat::kFloat32) {
    const auto found = cache.Find(cache.KeyOf(ops::PackedMatrix::RecipeOf(format, weight)));
    return found.has_value() ? ops::PackedMatrix::Read(format, weight, *found) : nullptr;
  }
  // Columns of the matrix in the file, or of the same matrix in other memory.
  ops::MatrixView Columns(int64_t first, int64_t count, const void* data = nullptr) const {
    const auto* floats = static_cast<const float*>(data == nullptr ? file_->bytes().data() : data);
    return {floats + first, 64, count, 64};
  }

  const TemporaryFolder folder_;
  Tensor floats_;
  std::shared_ptr<const FileBytes> file_;
};

TEST_F(WeightCacheTest, FindsWeightsKeptByEarlierRuns) {
  const ops::SideBySide whole({Columns(0, 64)});
  const ops::SideBySide two({Columns(40, 20), Columns(0, 30)});
  cache::WeightCache first = Cache();
  Keep(first, whole);
  ASSERT_TRUE(first.Save().ok());
  cache::WeightCache second = Cache();
  EXPECT_NE(Find(second, whole), nullptr);
  EXPECT_EQ(Find(second, two), nullptr);
  Keep(second, two);
  ASSERT_TRUE(second.Save().ok());
  // The third cache finds both, with the bytes that packing makes.
  cache::WeightCache third = Cache();
  for (const ops::SideBySide& weight : {whole, two}) {
    const auto found = Find(third, weight);
    ASSERT_NE(found, nullptr);
    const auto packed = ops::PackedMatrix::Pack(weight).value();
    ASSERT_EQ(found->panels().byte_size(), packed->panels().byte_size());
    EXPECT_EQ(
        std::memcmp(found->panels().raw(), packed->panels().raw(), packed->panels().byte_size()),
        0);
  }
}

TEST_F(WeightCacheTest, KeepsEachFormatOfAWeight) {
  const ops::SideBySide whole({Columns(0, 64)});
  cache::WeightCache first = Cache();
  Keep(first, whole);
  ops::KernelContext bf16;
  bf16.precision = Precision::kBfloat16;
  bf16.packed_store = &first;
  const auto packed = ops::PackedMatrix::Pack(whole, bf16).value();
  ASSERT_NE(packed->format(), ops::WeightFormat::kFloat32);
  ASSERT_TRUE(first.Save().ok());
  cache::WeightCache second = Cache();
  EXPECT_NE(Find(second, whole), nullptr);
  const auto found = Find(second, whole, packed->format());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->format(), packed->format());
  ASSERT_EQ(found->panels().byte_size(), packed->panels().byte_size());
  EXPECT_EQ(
      std::memcmp(found->panels().raw(), packed->panels().raw(), packed->panels().byte_size()), 0);
}

TEST_F(WeightCacheTest, KnowsWhichWeightsAreInt8) {
  // Large enough to be worth rounding: the file four times.
  const ops::SideBySide whole(std::vector<ops::StoredMatrix>(4, Columns(0, 64)));
  const auto pack = [&](cache::WeightCache& cache, bool is_final) {
    std::string reason;
    const ops::KernelContext context = {{}, Precision::kInt8, &cache, is_final, &reason};
    const auto packed = ops::PackedMatrix::Pack(whole, context).value();
    EXPECT_EQ(reason.empty(), !is_final);
    return packed;
  };
  cache::WeightCache first = Cache();
  const auto packed = pack(first, false);
  EXPECT_EQ(packed->format(), ops::FormatFor(Precision::kInt8, DataType::kFloat));
  ASSERT_TRUE(first.Save().ok());
  cache::WeightCache second = Cache();
  const auto found = pack(second, false);
  EXPECT_EQ(found->panels().raw(), Find(second, whole, packed->format())->panels().raw());
  EXPECT_EQ(
      std::memcmp(found->panels().raw(), packed->panels().raw(), packed->panels().byte_size()), 0);
  EXPECT_EQ(pack(second, true)->format(), ops::PackedMatrix::Pack(whole).value()->format());
}

TEST_F(WeightCacheTest, KnowsHowMuchWeightsLoseThatStayFiner) {
  const ops::SideBySide whole(std::vector<ops::StoredMatrix>(4, Columns(0, 64)));
  const ops::PackedRecipe recipe = ops::PackedMatrix::RecipeOf(ops::BestInt8Format(), whole);
  const auto pack = [&](ops::PackedBytes kept) {
    cache::WeightCache cache = Cache();
    cache.Add(cache.KeyOf(recipe), std::move(kept));
    std::string reason;
    const ops::KernelContext context = {{}, Precision::kInt8, &cache, false, &reason};
    const auto packed = ops::PackedMatrix::Pack(whole, context).value();
    EXPECT_EQ(reason.empty(), packed->format() == ops::BestInt8Format());
    // Nothing in place of the weight itself, or of its error, is left as it was.
    const auto kept_now = cache.Find(cache.KeyOf(recipe));
    EXPECT_EQ(kept_now->parts.empty(), !reason.empty());
    return reason;
  };
  // The weight would be int8 if it were judged again.
  EXPECT_THAT(pack({std::bit_cast<uint64_t>(0.25), {}}), HasSubstr("by 25 %"));
  EXPECT_THAT(pack({std::bit_cast<uint64_t>(std::nan("")), {}}), HasSubstr("not all finite"));
  EXPECT_EQ(pack({std::bit_cast<uint64_t>(0.01), {}}), "");
  EXPECT_EQ(pack({std::bit_cast<uint64_t>(0.25), {floats_}}), "");
}

TEST_F(WeightCacheTest, KeepsHowMuchWeightsLoseThatStayFiner) {
  constexpr int64_t kRows = 256;
  std::mt19937 generator(Seed());
  Tensor weights = RandomFloats({kRows, 64}, generator);
  std::fill_n(weights.mutable_data<float>(), 64, 16.0F);
  const ops::SideBySide whole({ops::MatrixView{weights.data<float>(), kRows, 64, 64}});
  const auto reason = [&] {
    cache::WeightCache cache = Cache();
    std::string reason;
    const ops::KernelContext context = {{}, Precision::kInt8, &cache, false, &reason};
    EXPECT_TRUE(ops::PackedMatrix::Pack(whole, context).ok());
    EXPECT_TRUE(cache.Save().ok());
    const auto recipe = ops::PackedMatrix::RecipeOf(ops::BestInt8Format(), whole);
    const auto kept = cache.Find(cache.KeyOf(recipe));
    EXPECT_TRUE(kept.has_value() && kept->parts.empty());
    return reason;
  };
  const std::string first = reason();
  EXPECT_THAT(first, HasSubstr("outliers"));
  EXPECT_EQ(reason(), first);
}

TEST_F(WeightCacheTest, DistinguishesViewsOfTheSameBytes) {
  const ops::MatrixView whole = Columns(0, 64);
  cache::WeightCache first = Cache();
  Keep(first, ops::SideBySide({whole}));
  ASSERT_TRUE(first.Save().ok());
  cache::WeightCache second = Cache();
  EXPECT_EQ(Find(second, ops::SideBySide({whole.Transposed()})), nullptr);
  EXPECT_EQ(Find(second, ops::SideBySide({Columns(0, 63)})), nullptr);
  EXPECT_EQ(Find(second, ops::SideBySide({Columns(0, 32), Columns(32, 32)})), nullptr);
  EXPECT_NE(Find(second, ops::SideBySide({whole})), nullptr);
}

TEST_F(WeightCacheTest, ConcurrentWritersLeaveOneCompleteFile) {
  constexpr int kWriters = 8;
  const ops::SideBySide whole({Columns(0, 64)});
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      cache::WeightCache cache = Cache();
      Keep(cache, whole);
      EXPECT_TRUE(cache.Save().ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::map<std::string, int> count;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path("cache"))) {
    ++count[file.path().extension()];
  }
  EXPECT_EQ(count, (std::map<std::string, int>{{".packed", 1}, {".seen", 1}}));
  cache::WeightCache last = Cache();
  EXPECT_NE(Find(last, whole), nullptr);
}

TEST_F(WeightCacheTest, KnowsWeightsInOtherMemoryByTheirContents) {
  const std::vector<ops::SideBySide> weights = {
      ops::SideBySide({Columns(0, 64, floats_.raw())}),
      ops::SideBySide({Columns(0, 64), Columns(0, 64, floats_.raw())}),
      ops::SideBySide({Columns(1, 63, floats_.raw())})};
  cache::WeightCache first = Cache();
  for (const ops::SideBySide& weight : weights) Keep(first, weight);
  ASSERT_TRUE(first.Save().ok());
  cache::WeightCache second = Cache();
  for (const ops::SideBySide& weight : weights) EXPECT_NE(Find(second, weight), nullptr);
  std::vector<float> copy(floats_.data<float>(), floats_.data<float>() + 64 * 64);
  EXPECT_NE(Find(second, ops::SideBySide({Columns(0, 64, copy.data())})), nullptr);
  copy[64 * 64 - 1] += 1;
  EXPECT_EQ(Find(second, ops::SideBySide({Columns(0, 64, copy.data())})), nullptr);
}

TEST_F(WeightCacheTest, DoesNotKeepWeightsWithoutElements) {
  cache::WeightCache cache = Cache();
  Keep(cache, ops::SideBySide({Columns(0, 0)}));
  ASSERT_TRUE(cache.Save().ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path("cache")));
}

// A file whose checksums are right may still hold nonsense.
TEST_F(WeightCacheTest, ReplacesWeightsThatDoNotFit) {
  const ops::SideBySide whole({Columns(0, 64)});
  const auto key = Cache().KeyOf(ops::PackedMatrix::RecipeOf(ops::WeightFormat::kFloat32, whole));
  const Tensor few = Tensor::Allocate(DataType::kUint8, {100}).value();
  for (const ops::PackedBytes& wrong :
       {ops::PackedBytes{}, ops::PackedBytes{0, {few}}, ops::PackedBytes{0, {few, few}}}) {
    cache::WeightCache first = Cache();
    first.Add(key, wrong);
    ASSERT_TRUE(first.Save().ok());
    cache::WeightCache second = Cache();
    EXPECT_TRUE(second.Find(key).has_value());
    EXPECT_EQ(Find(second, whole), nullptr);
    Keep(second, whole);
    EXPECT_NE(Find(second, whole), nullptr);
  }
}

}  // namespace
}  // namespace attnrun::testing
