// AmdProgram: a kernel in the GPU's memory, and the packets that launch it, made once: a launch
// adds the address of its arguments. See code_object.h and code_heap.h for how code is placed. For
// buffers that are not aligned as its code needs it, there is a second form
// (core/device/unaligned_form.h).
//
// Thread safety: a program does not change; launch() from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/program.h"
#include "core/device/unaligned_form.h"
#include "drivers/amd/caps.h"
#include "drivers/amd/code_heap.h"
#include "drivers/amd/code_object.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/scratch.h"

namespace doorbell::amd {

class AmdDevice;

class AmdProgram;

// A kernel with its arguments; the spans are borrowed.
struct KernelLaunch {
  const AmdProgram& program;
  std::span<const core::BufferView> buffers;  // by slot
  std::span<const i64> variables;             // in the kernel's order
};

class AmdProgram final : public core::Program {
 public:
  // A 64-bit field of the dispatch that takes an address of the launch's data.
  struct DataAddress {
    u32 word;          // of the two
    u32 offset_words;  // from the arguments' first word
  };
  static constexpr u32 kArgumentAlignmentWords = 16;  // a cache line of the scalar cache

  static Result<std::unique_ptr<core::Program>> make(const core::Binary& binary, AmdDevice& device);
  // The code stays until what was submitted by then is done.
  ~AmdProgram() override;

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

  const AmdDevice& device() const { return device_; }
  const std::string& name() const { return name_; }
  usize params() const { return params_; }
  usize variables() const { return variables_; }

  // Itself, or the form for buffers of unaligned addresses; the first call for those compiles.
  // `address_bits`: the buffers' addresses, or'ed.
  Result<const AmdProgram*> form_for(u64 address_bits) const;
  // Arguments, and behind them a dispatch packet where the kernel reads one.
  u32 argument_words() const { return argument_words_; }
  u32 data_words() const { return argument_words_ + static_cast<u32>(packet_words_.size()); }
  void write_arguments(const KernelLaunch& launch, std::span<u32> words) const;
  // That there are so many as the kernel takes.
  void check_arguments(usize buffers, usize variables) const;
  std::span<const u32> packet_words() const { return packet_words_; }
  // As PM4.
  std::span<const u32> dispatch_words() const { return dispatch_words_; }
  std::span<const DataAddress> data_addresses() const { return data_addresses_; }
  // As an AQL packet; the address of the arguments is missing.
  const Words<hw::KernelDispatchPacket>& packet() const { return packet_; }

 private:
  AmdProgram(const core::Binary& binary, AmdDevice& device);
  Result<void> check_chip(const CodeObject& object) const;
  Result<void> check();
  Result<void> check_group(const core::Binary& binary, const KernelMetadata& metadata) const;
  void make_packet(const core::Binary& binary);
  Result<void> make_dispatch(const core::Binary& binary, const Scratch& scratch);
  Result<void> add_user_data(const Scratch& scratch);
  template <class R>
  u32 set_register(const R& value);

  AmdDevice& device_;  // outlives its programs
  const Caps& caps_;
  const std::string& name_;  // kept by the device: a hang may name a program that is gone
  const usize params_, variables_;
  const core::UnalignedForm unaligned_;
  hw::KernelDescriptor descriptor_;
  CodeHeap::Range code_;
  u64 entry_ = 0, descriptor_address_ = 0;
  u32 argument_words_ = 0;
  std::vector<u32> dispatch_words_, packet_words_;
  std::vector<DataAddress> data_addresses_;
  Words<hw::KernelDispatchPacket> packet_{};
};

}  // namespace doorbell::amd
