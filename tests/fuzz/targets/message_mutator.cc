// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/message_mutator.h"

#include <limits>
#include <memory>

#include "google/protobuf/descriptor.h"

namespace attnrun::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMostMessages = 20'000;
constexpr int kMostElements = 2'000;
constexpr size_t kLongestText = 256;

// Lists the message and all inside it, and the texts of their fields.
void Collect(Message& message, std::vector<Message*>& all, std::vector<std::string>& texts) {
  if (all.size() >= kMostMessages) return;
  all.push_back(&message);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!is_message && !is_text) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (is_message) {
        Collect(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                     : *reflection.MutableMessage(&message, field),
                all, texts);
      } else {
        texts.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                             : reflection.GetString(message, field));
      }
    }
  }
}

}  // namespace

int64_t MessageMutator::Number(int64_t old) {
  static constexpr int64_t kNumbers[] = {0,
                                         1,
                                         -1,
                                         2,
                                         3,
                                         4,
                                         7,
                                         8,
                                         16,
                                         20,
                                         64,
                                         127,
                                         128,
                                         255,
                                         256,
                                         65'536,
                                         int64_t{1} << 31,
                                         -(int64_t{1} << 31),
                                         int64_t{1} << 40,
                                         int64_t{1} << 62,
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min()};
  // Sums as of unsigned numbers, which may overflow.
  const auto bits = static_cast<uint64_t>(old);
  switch (Below(4)) {
    case 0:
      return static_cast<int64_t>(bits + 1);
    case 1:
      return static_cast<int64_t>(bits - 1);
    case 2:
      return static_cast<int64_t>(0 - bits);
    default:
      return kNumbers[Below(std::size(kNumbers))];
  }
}

double MessageMutator::Real(double old) {
  using Limits = std::numeric_limits<float>;
  const double reals[] = {0,
                          -0.0,
                          1,
                          -1,
                          2,
                          0.5,
                          1e-9,
                          old * 2,
                          -old,
                          old + 1,
                          1e30,
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::quiet_NaN(),
                          Limits::denorm_min()};
  return reals[Below(std::size(reals))];
}

std::string MessageMutator::Text(const Field& field, const std::string& old) {
  if (field.name() == word_field_ && !words_.empty() && !OneIn(8)) {
    return words_[Below(words_.size())];
  }
  if (!texts_.empty() && !OneIn(8)) return texts_[Below(texts_.size())].substr(0, kLongestText);
  std::string text = old.substr(0, kLongestText);
  if (text.empty() || OneIn(2)) {
    text.insert(text.begin() + static_cast<std::ptrdiff_t>(Below(text.size() + 1)),
                static_cast<char>(random_() % 128));
  } else if (OneIn(2)) {
    text.erase(Below(text.size()), 1);
  } else {
    text[Below(text.size())] =
        static_cast<char>(random_() % (field.type() == Field::TYPE_STRING ? 128 : 256));
  }
  return text;
}

std::unique_ptr<Message> MessageMutator::CopyOfDonor(const google::protobuf::Descriptor* type) {
  std::vector<const Message*> donors;
  for (const Message* message : inside_) {
    if (message->GetDescriptor() == type) donors.push_back(message);
  }
  if (donors.empty()) return nullptr;
  const Message& donor = *donors[Below(donors.size())];
  std::unique_ptr<Message> copy(donor.New());
  copy->CopyFrom(donor);
  return copy;
}

void MessageMutator::CopyTo(Message& target, const Message* donor) {
  if (donor != nullptr) target.CopyFrom(*donor);
}

void MessageMutator::MutateElement(Message& message, const Field& field, int i) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.SetRepeatedInt32(
          &message, &field, i,
          static_cast<int32_t>(Number(r.GetRepeatedInt32(message, &field, i))));
    case Field::CPPTYPE_INT64:
      return r.SetRepeatedInt64(&message, &field, i,
                                Number(r.GetRepeatedInt64(message, &field, i)));
    case Field::CPPTYPE_UINT64:
      return r.SetRepeatedUInt64(&message, &field, i,
                                 static_cast<uint64_t>(Number(static_cast<int64_t>(
                                     r.GetRepeatedUInt64(message, &field, i)))));
    case Field::CPPTYPE_FLOAT:
      return r.SetRepeatedFloat(&message, &field, i,
                                static_cast<float>(Real(r.GetRepeatedFloat(message, &field, i))));
    case Field::CPPTYPE_DOUBLE:
      return r.SetRepeatedDouble(&message, &field, i,
                                 Real(r.GetRepeatedDouble(message, &field, i)));
    case Field::CPPTYPE_STRING:
      return r.SetRepeatedString(&message, &field, i,
                                 Text(field, r.GetRepeatedString(message, &field, i)));
    case Field::CPPTYPE_MESSAGE:
      return CopyTo(*r.MutableRepeatedMessage(&message, &field, i),
                    CopyOfDonor(field.message_type()).get());
    default:
      return;
  }
}

void MessageMutator::Append(Message& message, const Field& field) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.AddInt32(&message, &field, static_cast<int32_t>(Number(0)));
    case Field::CPPTYPE_INT64:
      return r.AddInt64(&message, &field, Number(0));
    case Field::CPPTYPE_UINT64:
      return r.AddUInt64(&message, &field, static_cast<uint64_t>(Number(0)));
    case Field::CPPTYPE_FLOAT:
      return r.AddFloat(&message, &field, static_cast<float>(Real(0)));
    case Field::CPPTYPE_DOUBLE:
      return r.AddDouble(&message, &field, Real(0));
    case Field::CPPTYPE_STRING:
      return r.AddString(&message, &field, Text(field, ""));
    case Field::CPPTYPE_MESSAGE:
      return CopyTo(*r.AddMessage(&message, &field), CopyOfDonor(field.message_type()).get());
    default:
      return;
  }
}

void MessageMutator::MutateRepeated(Message& message, const Field& field) {
  const Reflection& r = *message.GetReflection();
  const int count = r.FieldSize(message, &field);
  if (count == 0 || (OneIn(4) && count < kMostElements)) return Append(message, field);
  const auto i = static_cast<int>(Below(count));
  switch (Below(4)) {
    case 0:
      r.SwapElements(&message, &field, i, count - 1);
      return r.RemoveLast(&message, &field);
    case 1:
      return r.SwapElements(&message, &field, i, static_cast<int>(Below(count)));
    default:
      return MutateElement(message, field, i);
  }
}

void MessageMutator::MutateSingular(Message& message, const Field& field) {
  const Reflection& r = *message.GetReflection();
  if (r.HasField(message, &field) && OneIn(5)) return r.ClearField(&message, &field);
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.SetInt32(&message, &field,
                        static_cast<int32_t>(Number(r.GetInt32(message, &field))));
    case Field::CPPTYPE_INT64:
      return r.SetInt64(&message, &field, Number(r.GetInt64(message, &field)));
    case Field::CPPTYPE_FLOAT:
      return r.SetFloat(&message, &field, static_cast<float>(Real(r.GetFloat(message, &field))));
    case Field::CPPTYPE_ENUM:
      return r.SetEnumValue(&message, &field,
                            field.enum_type()
                                ->value(static_cast<int>(Below(field.enum_type()->value_count())))
                                ->number());
    case Field::CPPTYPE_STRING:
      return r.SetString(&message, &field, Text(field, r.GetString(message, &field)));
    case Field::CPPTYPE_MESSAGE: {
      // To set a member of a oneof deletes another, which may be the donor.
      const std::unique_ptr<Message> donor = CopyOfDonor(field.message_type());
      return CopyTo(*r.MutableMessage(&message, &field), donor.get());
    }
    default:
      return;
  }
}

void MessageMutator::MutateField(Message& message, const Field& field) {
  if (field.is_repeated()) {
    MutateRepeated(message, field);
  } else {
    MutateSingular(message, field);
  }
}

void MessageMutator::Mutate(Message& message) {
  inside_.clear();
  texts_.clear();
  Collect(message, inside_, texts_);
  Message& target = *inside_[Below(inside_.size())];
  std::vector<const Field*> present;
  target.GetReflection()->ListFields(target, &present);
  if (!present.empty() && !OneIn(4)) return MutateField(target, *present[Below(present.size())]);
  const auto* type = target.GetDescriptor();
  if (type->field_count() == 0) return;
  MutateField(target, *type->field(static_cast<int>(Below(type->field_count()))));
}

void MessageMutator::Cross(Message& message, const Message& other) {
  const std::unique_ptr<Message> copy(other.New());
  copy->CopyFrom(other);
  std::vector<Message*> mine;
  inside_.clear();
  texts_.clear();
  Collect(message, mine, texts_);
  Collect(*copy, inside_, texts_);
  Message& target = *mine[Below(mine.size())];
  CopyTo(target, CopyOfDonor(target.GetDescriptor()).get());
}

}  // namespace attnrun::testing
