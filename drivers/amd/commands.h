// Commands: what AMD's command buffers share: records of hw/ become words at the end of the
// words or of the data, and their fields take operands. See pm4_commands.h, aql_commands.h and
// sdma_commands.h for the sequences.
#pragma once

#include "base/bits/record.h"
#include "hcq/queue/command_buffer.h"
#include "hcq/queue/field.h"

namespace doorbell::amd {

using hcq::Field;
using hcq::field_of;

class Commands : public hcq::CommandBuffer {
 protected:
  enum class Area : u8 { Words, Data };

  explicit Commands(Area area) : area_(area) {}

  // Words at the end of the area; the index of the first.
  u32 append(std::span<const u32> words) {
    if (area_ == Area::Words) return add_words(words);
    const u32 at = add_data(words);
    data_appended();
    return at;
  }
  virtual void data_appended() {}
  template <class T>
  u32 emit(const T& record) {
    return append(encode(record));
  }
  // A field of a record that was emitted at `at`.
  void set(u32 at, const Field& field, hcq::Operand value) {
    if (area_ == Area::Words)
      put(at + field.word, field.bits, value, field.shift);
    else
      put_data(at + field.word, field.bits, value, field.shift);
  }
  // The same for half of a 64-bit value in a field of 32 bits.
  void set_half(u32 at, Field field, hcq::Operand value, bool high) {
    if (value.is_slot())
      field.shift = high ? 32 : 0;
    else
      value.value = high ? value.value >> 32 : value.value & ~u32{0};
    set(at, field, value);
  }
  u32 area_size() const {
    return static_cast<u32>(area_ == Area::Words ? words().size() : data().size());
  }

 private:
  const Area area_;
};

}  // namespace doorbell::amd
