// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/algorithm/container.h"
#include "core/same_bits.h"
#include "models/archived_models.h"
#include "support/temporary_folder.h"

// The models in models/quantized.tar.xz with a weight cache: the start that writes it and the next
// one compute the bits of a start without it.
namespace attnrun::testing {
namespace {

class CachedModels : public ::testing::TestWithParam<Export> {};

// The outputs of all cases.
std::vector<TensorMap> Outputs(const Export& model, const std::string& cache) {
  SessionOptions options;
  options.weight_cache = cache;
  const auto session = Session::Load(InModels(model.file), options);
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<TensorMap> outputs;
  for (const Case& one : model.cases) {
    outputs.push_back(session->Run(ReadNpz(one.inputs)).value());
  }
  return outputs;
}

// True if all cases have the same outputs.
bool SameOutputs(const std::vector<TensorMap>& a, const std::vector<TensorMap>& b) {
  return absl::c_equal(a, b, [](const TensorMap& x, const TensorMap& y) { return SameBits(x, y); });
}

// The time when the packed file was written.
std::filesystem::file_time_type Written(const std::string& cache) {
  for (const auto& entry : std::filesystem::directory_iterator(cache)) {
    if (entry.path().extension() == ".packed") return entry.last_write_time();
  }
  return {};
}

TEST_P(CachedModels, HaveTheSameBits) {
  const TemporaryFolder folder;
  const std::string cache = folder.path("cache");
  const std::vector<TensorMap> expected = Outputs(GetParam(), "");
  EXPECT_TRUE(SameOutputs(Outputs(GetParam(), cache), expected));
  const auto written = Written(cache);
  EXPECT_NE(written, std::filesystem::file_time_type()) << "all of these models have weights";
  EXPECT_TRUE(SameOutputs(Outputs(GetParam(), cache), expected));
  EXPECT_EQ(Written(cache), written) << "the second start found all weights";
}

INSTANTIATE_TEST_SUITE_P(Archive, CachedModels, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
