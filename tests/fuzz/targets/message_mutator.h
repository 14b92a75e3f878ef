// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_MESSAGE_MUTATOR_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_MESSAGE_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace attnrun::testing {

// Changes protobuf messages so that they still follow their schema. A fuzzer that changes bytes
// rarely gets past the parser; this one does always.
class MessageMutator {
 public:
  // `words` are texts for fields of the name `word_field`, besides those that the message has.
  MessageMutator(uint32_t seed, std::string word_field, const std::vector<std::string>& words)
      : random_(seed), word_field_(std::move(word_field)), words_(words) {}

  // Changes one field of the message or of one inside it: a value, or the presence, number, order
  // or contents of messages. Texts come from the message itself, so that names keep leading
  // somewhere.
  void Mutate(google::protobuf::Message& message);

  // Replaces a message inside `message` by one of the same type that is inside `other`.
  void Cross(google::protobuf::Message& message, const google::protobuf::Message& other);

 private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  size_t Below(size_t count) { return count == 0 ? 0 : random_() % count; }
  bool OneIn(uint32_t count) { return random_() % count == 0; }

  void MutateField(Message& message, const Field& field);
  void MutateRepeated(Message& message, const Field& field);
  void MutateElement(Message& message, const Field& field, int i);
  void MutateSingular(Message& message, const Field& field);
  void Append(Message& message, const Field& field);
  // A copy of some message of this type, which stays when the message changes; null if there is
  // none.
  std::unique_ptr<google::protobuf::Message> CopyOfDonor(const google::protobuf::Descriptor* type);
  static void CopyTo(google::protobuf::Message& target, const google::protobuf::Message* donor);

  int64_t Number(int64_t old);
  double Real(double old);
  std::string Text(const Field& field, const std::string& old);

  std::mt19937 random_;
  const std::string word_field_;
  const std::vector<std::string>& words_;
  // All messages inside the one that is changed, and their texts.
  std::vector<Message*> inside_;
  std::vector<std::string> texts_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_MESSAGE_MUTATOR_H_
