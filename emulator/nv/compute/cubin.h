// Cubin: a loaded ELF file of NVIDIA's compilers: its kernels and what a launch of each needs, its
// code, constant banks and global variables. compute/launch.h runs a kernel of it.
//
// The file's attributes (.nv.info) and relocations are not documented by NVIDIA; the meanings used
// here are those that nvdisasm prints (EIATTR_..., R_CUDA_...) and that CuAssembler's docs describe
// [cloudcores/CuAssembler, UserGuide.md].
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/nv/isa/register_rules.h"

namespace doorbell::emu::nvgpu {

struct KernelParameter {
  u32 offset = 0, bytes = 0;  // in the parameters of a launch
};

struct CubinKernel {
  std::string name;
  u64 entry = 0;  // address of its first instruction: an index into code(), from Cubin::kCodeStart
  u64 code_bytes = 0;
  u32 registers = 0;                        // of a thread
  u32 shared_bytes = 0;                     // static, what the system reserves included
  u32 local_bytes = 0;                      // of a thread: its stack
  u32 parameter_base = 0;                   // offset of the parameters in constant bank 0
  u32 parameter_bytes = 0;                  // of all parameters
  std::vector<KernelParameter> parameters;  // in order
  std::array<u32, 3> required_block{};      // the only dimensions it may be launched with; 0: any
  u32 most_threads = 0;                     // of a block; 0: not stated
  std::map<u32, std::vector<u8>> banks;     // constant banks of its own: 0 (zeros), 2
};

// A global variable, or one in constant memory.
struct CubinVariable {
  std::string name;
  u64 offset = 0, bytes = 0;  // in the globals, or in constant bank 3
  bool constant = false;
};

// Thread safety: constant after place().
class Cubin {
 public:
  // The address space of code is separate from that of memory.
  static constexpr u64 kCodeStart = 0x10'0000'0000;

  // Copies what it needs. Corrupt for a malformed file, Unsupported for one that is no cubin or
  // has relocations that are not known.
  static Result<std::unique_ptr<Cubin>> parse(std::span<const u8> image);

  u32 chip() const { return chip_; }  // 86 of sm_86
  const std::vector<CubinKernel>& kernels() const { return kernels_; }
  const CubinKernel* find_kernel(std::string_view name) const;  // null: none of that name
  const std::vector<CubinVariable>& variables() const { return variables_; }

  // The bytes that the global variables need in the GPU's memory, at an address that is a multiple
  // of 256. Zero: none.
  u64 global_bytes() const { return globals_.size(); }
  // Says where the globals are, relocates the code and the constants accordingly, and decodes the
  // code. To be called once, before a launch, also where there are no globals. Returns what the
  // caller writes there.
  std::span<const u8> place(u64 globals);

  std::span<const u8> code() const { return code_; }
  // The code as operations, and the registers that they use.
  const Program& program() const { return program_; }
  const std::vector<RegisterUses>& register_uses() const { return uses_; }
  // Constant banks that all kernels share: 3 (__constant__ variables), 4 (addresses).
  const std::map<u32, std::vector<u8>>& banks() const { return banks_; }
  // __constant__ variables may be written between launches.
  std::span<u8> constant_variables();

 private:
  friend class CubinReader;
  // A 64-bit or split address to be stored. `target` is relative to the code's or globals' start.
  enum class Base : u8 { Absolute, Code, Globals };
  struct Fix {
    std::vector<u8>* bytes = nullptr;
    u64 offset = 0;
    u32 type = 0;
    Base base = Base::Absolute;
    u64 target = 0;
  };
  void apply(const Fix& fix, u64 globals);

  u32 chip_ = 0;
  std::vector<CubinKernel> kernels_;
  std::vector<CubinVariable> variables_;
  std::vector<u8> code_, globals_;
  std::map<u32, std::vector<u8>> banks_;
  std::vector<Fix> fixes_;
  Program program_;
  std::vector<RegisterUses> uses_;
};

}  // namespace doorbell::emu::nvgpu
