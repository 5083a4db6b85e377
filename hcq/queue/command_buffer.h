// CommandBuffer: commands for one queue, recorded as the words that the queue reads. Vendors
// implement whole operations; the words, their patches and the arguments of kernels are kept here.
// See queue.h for words that run once, resident_commands.h for those that run again and again.
//
// Thread safety: one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/device/program.h"
#include "hcq/queue/operand.h"
#include "hcq/queue/patch.h"
#include "hcq/queue/word_buffer.h"

namespace doorbell::hcq {

// A launch of a kernel. Spans are read before exec() returns; the program outlives all runs.
struct Launch {
  core::Program* program = nullptr;    // of the queue's device
  std::span<const Operand> buffers;    // addresses by slot
  std::span<const Operand> variables;  // in the kernel's order
};

class CommandBuffer {
 public:
  virtual ~CommandBuffer() = default;

  // Stalls until the 64-bit signal at `address` is at least `value`.
  virtual void wait(Operand address, Operand value) = 0;
  // Raises the signal after all earlier commands are done and visible.
  virtual void signal(Operand address, Operand value) = 0;
  // Writes the device's time, in ticks of Queue::to_ns, after everything before is done; see
  // Queue::timestamp_bytes().
  virtual void timestamp(Operand address) = 0;
  // Makes earlier writes visible to later commands.
  virtual void memory_barrier() = 0;
  virtual void exec(const Launch& launch) = 0;
  virtual void copy(Operand to, Operand from, u64 bytes) = 0;
  virtual void write(Operand address, Operand value) = 0;  // 64 bits
  // Stalls until the 64 bits at `address`, masked, equal `value`.
  virtual void poll(Operand address, Operand value, u64 mask) = 0;

  std::span<const u32> words() const { return words_.span(); }
  std::span<const Patch> patches() const { return patches_; }
  // Kernel arguments: they follow the words of resident commands, or lie in an argument ring.
  std::span<const u32> data() const { return data_.span(); }
  std::span<const Patch> data_patches() const { return data_patches_; }
  void clear();

  // For commands that run once, without slots: commands recorded until clear() are written directly
  // where the device reads them. The memory is borrowed, and the caller proves that everything fits
  // (word_buffer.h). `address` is that of the data; addresses of data are then final at once.
  void lend_words(std::span<u32> memory) { words_.lend(memory); }
  void lend_data(std::span<u32> memory, GpuAddr address) {
    data_.lend(memory);
    data_address_ = address;
  }

  // Writes into `words` (a copy of words()) the addresses of data, once that lies at `data`.
  void relocate(std::span<u32> words, GpuAddr data) const;
  // The same into a copy of data(), for data that refers to data.
  void relocate_data(std::span<u32> data, GpuAddr address) const;

 protected:
  // `count` zero words at the end; the index of the first.
  u32 add_words(u32 count) { return words_.append_zeros(count); }
  u32 add_words(std::span<const u32> words) { return words_.append(words); }
  // A constant, or a patch.
  void put(u32 word, Bits bits, Operand operand, u8 shift = 0);
  void put_64(u32 word, Operand operand) { put(word, Bits{63, 0}, operand); }
  // `count` zero words of data at a multiple of `alignment` words; the index of the first.
  u32 add_data(u32 count, u32 alignment);
  // Appends directly behind the existing data.
  u32 add_data(std::span<const u32> words) { return data_.append(words); }
  // From data word `first` on.
  std::span<u32> data_at(u32 first) { return data_.span().subspan(first); }
  void put_data(u32 word, Bits bits, Operand operand, u8 shift = 0);
  // The field will hold the address of data word `target`.
  void put_data_address(u32 word, Bits bits, u32 target, u8 shift = 0);
  // The same for a field in data.
  void put_data_link(u32 word, Bits bits, u32 target, u8 shift = 0);

 private:
  WordBuffer words_, data_;
  std::optional<GpuAddr> data_address_;  // of lent data
  std::vector<Patch> patches_, data_patches_;
  std::vector<Patch> relocations_, data_links_;  // of words, of data; a slot is an index of data_
};

}  // namespace doorbell::hcq
