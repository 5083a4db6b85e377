// Breakpoints: places in kernels where a wave's registers are reported before it goes on. No wave
// stops there: the report goes to a file or a terminal, and the program runs to its end. See
// compute/grid.h for how waves come to them, compute/wave_text.h for the registers as text.
//
// Thread safety: from any thread; the GPUs of a machine share them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "emulator/amd/compute/work_group.h"
#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/decode/instruction_source.h"
#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

class Breakpoints {
 public:
  struct Options {
    u64 most = 1;      // so often each is told
    bool lds = false;  // with the work group's LDS
    std::function<void(std::string_view)> tell;
  };

  // "softmax*,matmul*:0x40,0x200000001040": kernels by the pattern of their name, at their first
  // instruction or so many bytes behind it; or an address in any kernel. Invalid names what is
  // wrong.
  static Result<std::shared_ptr<Breakpoints>> parse(std::string_view list, Options options);

  struct Kernel {
    std::string name;  // empty: unknown
    u64 code = 0;      // its first instruction
  };
  // Where waves of the kernel are to be told, those apart that were told often enough.
  std::vector<u64> addresses(const Kernel& kernel) const;
  bool ask_for_names() const;

  // A wave is about to run the instruction at its pc. False: that place is no longer asked for.
  bool reach(const Kernel& kernel, const Chip& chip, const AddressSpace& space,
             const WorkGroup& group, usize wave);

  // Those that no wave came to, as they were written.
  std::vector<std::string> unreached() const;

 private:
  struct Breakpoint {
    std::string text, kernel;  // `kernel` empty: `offset` is an address
    u64 offset = 0;
    u64 told = 0;  // under mutex_
  };
  explicit Breakpoints(Options options) : options_(std::move(options)) {}
  static Result<Breakpoint> parse_one(std::string_view text);
  static bool fits(const Breakpoint& at, const Kernel& kernel);
  static u64 address_of(const Breakpoint& at, const Kernel& kernel);

  const Options options_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Breakpoint> all_;
};

// Some instructions before `pc`, from `first` on, it with an arrow, and some behind, a line each.
std::string code_around(const Chip& chip, u32 lanes, const AddressSpace& space, u64 first, u64 pc);

}  // namespace doorbell::emu::amdgpu
