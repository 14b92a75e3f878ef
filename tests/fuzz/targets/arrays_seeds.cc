// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "fuzz/targets/seeds.h"
#include "loader/model_maker.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/npz.h"

namespace attnrun::testing {

// One array of some types as .npy, all as .npz, and a tensor as .pb.
void WriteSeeds(const std::filesystem::path& folder) {
  TensorMap values;
  for (const DataType type :
       {DataType::kFloat, DataType::kBool, DataType::kInt64, DataType::kFloat16}) {
    const std::string name(Name(type));
    values[name] = FromDoubles(type, {2, 3}, {0, 1, -2, 3, 0.5, 1}).value();
    const cli::NpyBytes array = cli::ToNpy(values[name]).value();
    const auto* elements = static_cast<const char*>(array.elements.raw());
    WriteSeed(folder / (name + ".npy"),
              array.header + std::string(elements, array.elements.byte_size()));
  }
  const std::vector<std::string> texts = {"a", "longer"};
  values["texts"] = Tensor::Of<std::string>({2}, texts).value();
  cli::WriteNpz((folder / "all.npz").string(), values).IgnoreError();
  WriteSeed(
      folder / "one.pb",
      RawTensor("one", onnx::TensorProto::FLOAT, {2}, std::string(8, '\1')).SerializeAsString());
}

}  // namespace attnrun::testing
