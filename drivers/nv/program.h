// NvProgram: a kernel of a cubin, placed in the GPU's memory: its descriptor (QMD) and constant
// bank 0, which each launch copies and fills in. For buffers that are not aligned as its code needs
// it, there is a second form (core/device/unaligned_form.h).
#pragma once

#include <string>
#include <vector>

#include "core/device/unaligned_form.h"
#include "drivers/nv/cubin.h"
#include "drivers/nv/hw/qmd/qmd.h"

namespace doorbell::nv {

class NvDevice;
class NvProgram;

// A launch that runs once. Spans are read before the queue returns.
struct KernelLaunch {
  const NvProgram& program;
  std::span<const core::BufferView> buffers;
  std::span<const i64> variables;
};

class NvProgram final : public core::Program {
 public:
  // Where an argument lies in constant bank 0.
  struct Argument {
    u32 word = 0;
    bool is_wide = false;  // 64 bits, else 32
  };

  static Result<std::unique_ptr<core::Program>> make(const core::Binary& binary, NvDevice& device);
  // The code stays until what was submitted by then is done.
  ~NvProgram() override;

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

  const NvDevice& device() const { return device_; }
  const std::string& name() const { return name_; }
  // Buffers, then variables.
  const std::vector<Argument>& arguments() const { return arguments_; }
  // Itself, or the form for buffers of unaligned addresses; the first call for those compiles.
  // `address_bits`: the buffers' addresses, or'ed.
  Result<const NvProgram*> form_for(u64 address_bits) const;
  // That there are so many as the kernel takes.
  void check_arguments(usize buffers, usize variables) const;
  // Constant bank 0 without arguments, and the descriptor without its address.
  std::span<const u32> bank_words() const { return bank_; }
  const hw::Qmd& qmd() const { return qmd_; }
  // What a launch's bank and descriptor take together, each aligned.
  u32 data_words() const { return data_words_; }
  void write_arguments(const KernelLaunch& launch, std::span<u32> bank) const;

 private:
  NvProgram(const core::Binary& binary, NvDevice& device, hw::QmdVersion version);
  Result<void> check(const core::Binary& binary, const Cubin& cubin) const;
  Result<void> find_arguments(const Cubin& cubin);
  void make_bank(const core::Binary& binary, const Cubin& cubin);
  void make_qmd(const core::Binary& binary, const Cubin& cubin);

  NvDevice& device_;         // outlives its programs
  const std::string& name_;  // kept by the device: a fault may name a program that is gone
  const usize params_, variables_;
  const core::UnalignedForm unaligned_;
  core::Allocation code_;
  std::vector<Argument> arguments_;
  std::vector<u32> bank_;
  hw::Qmd qmd_;
  u32 data_words_ = 0;
};

}  // namespace doorbell::nv
