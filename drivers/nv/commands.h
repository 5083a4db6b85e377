// NvCommands: what the command buffers of NVIDIA's channels share: the methods of the host engine
// (semaphores), and copies, which both channels can do. See compute_commands.h for launches.
//
// Subchannels, to which a channel binds classes when it is made: kCompute and kCopy; the host
// engine's own methods go to any.
//
// Order: the host engine takes methods one after another, but engines work on while it does. So
// what the host engine itself writes first waits until the engine is idle (RELEASE_WFI), and a
// channel's engines wait for each other where it changes between them.
#pragma once

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/host/methods.h"
#include "hcq/queue/command_buffer.h"
#include "hcq/queue/field.h"

namespace doorbell::nv {

class NvCommands : public hcq::CommandBuffer {
 public:
  static constexpr u8 kHost = 0, kCompute = 1, kCopy = 4;

  explicit NvCommands(const hw::ChipClasses& classes) : classes_(classes) {}

  void wait(hcq::Operand address, hcq::Operand value) override;
  void signal(hcq::Operand address, hcq::Operand value) override;
  // 16 bytes: 0, and nanoseconds of the GPU's clock.
  void timestamp(hcq::Operand address) override;
  void memory_barrier() override;
  // Only compute channels launch.
  void exec(const hcq::Launch& launch) override;
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;
  void write(hcq::Operand address, hcq::Operand value) override;
  // Of a mask that is not whole, bit after bit; its value is no slot.
  void poll(hcq::Operand address, hcq::Operand value, u64 mask) override;

  // ---- for the queue ----------------------------------------------------------------------------
  // Binds the classes, once a channel.
  virtual void set_up();

 protected:
  // The words of a record behind a header; the index of its first word of data.
  template <class Record>
  u32 emit(u8 subchannel, const Record& record) {
    ended_run();
    return add_words(hw::encode_methods(subchannel, record)) + 1;
  }
  // The same for `count` methods of a record, from its method `first`; the index of the word that
  // its first method would have.
  template <class Record>
  u32 emit_some(u8 subchannel, const Record& record, u16 count, u32 first = 0) {
    ended_run();
    auto words = hw::encode_methods(subchannel, record);
    words[first] = encode(hw::MethodHeader{
        .method = Record::kMethod + 4 * first, .subchannel = subchannel, .count = count})[0];
    return add_words(std::span<const u32>(words).subspan(first, count + u32{1})) + 1 - first;
  }
  void set(u32 at, const hcq::Field& field, hcq::Operand value) {
    put(at + field.word, field.bits, value, field.shift);
  }
  // Anything but a launch behind a launch.
  virtual void ended_run() {}
  // All before the last method is done when the channel gets to the next one.
  virtual void became_idle() {}
  const hw::ChipClasses& classes() const { return classes_; }

 private:
  // An address in two words, the upper one first.
  void put_address(u32 at, hcq::Field upper, const hcq::Field& lower, hcq::Operand address);
  void semaphore(hcq::Operand address, hcq::Operand value, const hw::Semaphore& record);
  void poll_bit(hcq::Operand address, u64 bit, bool is_set);

  const hw::ChipClasses& classes_;  // the GPU's
};

}  // namespace doorbell::nv
