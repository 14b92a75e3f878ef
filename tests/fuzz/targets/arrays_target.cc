// SPDX-License-Identifier: Apache-2.0
// Arrays: each reader of inputs reads the same bytes.
#include <string>

#include "fuzz/targets/memory_file.h"
#include "fuzz/targets/target.h"
#include "loader/loader.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/npz.h"

namespace attnrun::testing {
namespace {

// Writing what was read gives a file that reads as the same.
void CheckWritten(const Tensor& tensor) {
  const absl::StatusOr<cli::NpyBytes> written = cli::ToNpy(tensor);
  if (!written.ok()) return;
  const Tensor& elements = written->elements;
  const MemoryFile file(absl::StrCat(
      written->header,
      absl::string_view(static_cast<const char*>(elements.raw()), elements.byte_size())));
  const absl::StatusOr<Tensor> again = cli::ReadNpyFile(file.path());
  if (!again.ok()) Fail(absl::StrCat("a written array cannot be read: ", again.status().message()));
  if (again->shape() != tensor.shape()) Fail("a written array has another shape");
}

void ReadNpzArrays(const std::string& path) {
  const absl::StatusOr<cli::NpzFile> file = cli::NpzFile::Open(path);
  if (!file.ok()) return;
  for (const auto& [name, entry] : file->entries()) {
    const absl::StatusOr<Tensor> tensor = file->Read(name);
    if (tensor.ok()) CheckWritten(*tensor);
  }
}

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attnrun::ValueKind;
  const attnrun::testing::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto array = attnrun::cli::ReadNpyFile(file.path());
  if (array.ok()) attnrun::testing::CheckWritten(*array);
  attnrun::testing::ReadNpzArrays(file.path());
  attnrun::loader::ReadTensorProto(file.path()).IgnoreError();
  for (const ValueKind kind :
       {ValueKind::kSequence, ValueKind::kOptionalTensor, ValueKind::kOptionalSequence}) {
    attnrun::ValueInfo info;
    info.type = attnrun::DataType::kFloat;
    info.kind = kind;
    attnrun::loader::ReadValueProto(file.path(), info).IgnoreError();
  }
  return 0;
}
