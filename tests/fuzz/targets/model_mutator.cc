// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/model_mutator.h"

#include <algorithm>
#include <fstream>
#include <memory>

#include "fuzz/targets/message_mutator.h"
#include "fuzz/targets/target.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using google::protobuf::Message;

// ONNX's schema, read at run time: the classes that the loader uses are compiled without what a
// mutator needs to look into a message.
class Schema {
 public:
  Schema() {
    std::ifstream file(ATTNRUN_ONNX_DESCRIPTORS, std::ios::binary);
    google::protobuf::FileDescriptorSet files;
    if (!files.ParseFromIstream(&file)) Fail("ONNX's schema cannot be read");
    const google::protobuf::FileDescriptor* schema = nullptr;
    for (const auto& description : files.file()) schema = pool_.BuildFile(description);
    if (schema == nullptr) Fail("ONNX's schema is invalid");
    model_ = factory_.GetPrototype(schema->FindMessageTypeByName("ModelProto"));
  }

  static std::unique_ptr<Message> NewModel() {
    static const auto& schema = *new Schema;
    return std::unique_ptr<Message>(schema.model_->New());
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const Message* model_ = nullptr;
};

size_t Serialize(const Message& model, uint8_t* data, size_t size, size_t most) {
  const std::string bytes = model.SerializePartialAsString();
  if (bytes.size() > most) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace
}  // namespace attnrun::testing

using attnrun::testing::MessageMutator;
using attnrun::testing::OperatorNames;
using attnrun::testing::Schema;
using attnrun::testing::Serialize;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  // Now and then bytes, for the parser itself.
  if (seed % 32 == 0) return LLVMFuzzerMutate(data, size, most);
  const auto model = Schema::NewModel();
  if (!model->ParsePartialFromArray(data, static_cast<int>(size))) {
    model->ParseFromString(attnrun::testing::SmallModel().SerializeAsString());
  }
  MessageMutator mutator(seed, "op_type", OperatorNames());
  for (unsigned left = 1 + seed % 4; left > 0; --left) mutator.Mutate(*model);
  return Serialize(*model, data, size, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t most, unsigned seed) {
  const auto model = Schema::NewModel();
  const auto other = Schema::NewModel();
  if (!model->ParsePartialFromArray(data1, static_cast<int>(size1)) ||
      !other->ParsePartialFromArray(data2, static_cast<int>(size2))) {
    return 0;
  }
  MessageMutator(seed, "op_type", OperatorNames()).Cross(*model, *other);
  return Serialize(*model, out, 0, most);
}
