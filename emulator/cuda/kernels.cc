// Cubins and their grids, on the interpreter of SASS.
#include "emulator/cuda/kernels.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "emulator/nv/compute/cubin.h"
#include "emulator/nv/compute/launch.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::cuda {
namespace {

// Cubins from sm_90 on count what the system reserves of a block's shared memory; limits of CUDA do
// not. [NVIDIA's compilers: .nv.shared.KERNEL of a kernel without shared memory has 1 KiB; CUDA
// Programming Guide 13, "Technical Specifications per Compute Capability": 227 of 228 KiB]
u32 static_shared(const nvgpu::CubinKernel& kernel, u32 chip) {
  constexpr u32 kReserved = 1 << 10, kFirstThatCounts = 90;
  return chip < kFirstThatCounts ? kernel.shared_bytes
                                 : kernel.shared_bytes - std::min(kernel.shared_bytes, kReserved);
}

KernelFacts facts_of(const nvgpu::CubinKernel& kernel, u32 chip) {
  KernelFacts facts{.name = kernel.name,
                    .parameter_bytes = kernel.parameter_bytes,
                    .parameters = {},
                    .shared_bytes = static_shared(kernel, chip),
                    .local_bytes = kernel.local_bytes,
                    .registers = kernel.registers,
                    .most_threads = kernel.most_threads,
                    .required_block = kernel.required_block};
  for (const nvgpu::KernelParameter& parameter : kernel.parameters)
    facts.parameters.push_back({parameter.offset, parameter.bytes});
  return facts;
}

class CubinCode final : public Code {
 public:
  explicit CubinCode(std::unique_ptr<nvgpu::Cubin> cubin) : cubin_(std::move(cubin)) {
    for (const nvgpu::CubinKernel& kernel : cubin_->kernels())
      facts_.push_back(facts_of(kernel, cubin_->chip()));
  }

  const std::vector<KernelFacts>& kernels() const override { return facts_; }
  u64 global_bytes() const override { return cubin_->global_bytes(); }
  std::span<const u8> place(u64 address) override { return cubin_->place(address); }

  Result<std::string> run(const KernelFacts& kernel, const Grid& grid, AddressSpace& memory,
                          Checks& checks) const override {
    const nvgpu::Launch launch{.grid = grid.grid,
                               .block = grid.block,
                               .dynamic_shared = grid.shared_bytes,
                               .parameters = grid.parameters,
                               .most_instructions = grid.most_instructions,
                               .counts = grid.counts};
    TRY(const nvgpu::LaunchResult result,
        nvgpu::launch(*cubin_, *cubin_->find_kernel(kernel.name), launch, memory, checks));
    return result.fault ? nvgpu::to_string(*result.fault) : std::string();
  }

 private:
  const std::unique_ptr<nvgpu::Cubin> cubin_;
  std::vector<KernelFacts> facts_;
};

}  // namespace

// cuModuleLoadData is told no size: the section headers, or the program headers, end the file.
Result<usize> image_bytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, SELFMAG);  // what is no ELF file may be shorter than a header
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail(ErrorKind::Corrupt,
                "an image that begins with {:02x} {:02x} {:02x} {:02x} is no cubin; PTX and fat "
                "binaries are not emulated",
                header.e_ident[0], header.e_ident[1], header.e_ident[2], header.e_ident[3]);
  std::memcpy(&header, image, sizeof header);
  const usize sections = header.e_shoff + usize{header.e_shnum} * header.e_shentsize;
  const usize programs = header.e_phoff + usize{header.e_phnum} * header.e_phentsize;
  return std::max({sections, programs, sizeof header});
}

Result<std::unique_ptr<Code>> Code::load(const void* image, const Chip& chip) {
  TRY(const usize bytes, image_bytes(image));
  TRY(std::unique_ptr<nvgpu::Cubin> cubin,
      nvgpu::Cubin::parse({static_cast<const u8*>(image), bytes}));
  // A cubin runs on later chips of its major version. [CUDA Programming Guide, "Binary
  // Compatibility"]
  const int major = static_cast<int>(cubin->chip() / 10);
  const int minor = static_cast<int>(cubin->chip() % 10);
  if (major != chip.major || minor > chip.minor)
    return fail(ErrorKind::Unsupported, "a cubin for sm_{} does not run on {}", cubin->chip(),
                chip.name);
  return std::unique_ptr<Code>(std::make_unique<CubinCode>(std::move(cubin)));
}

std::span<const Check* const> kernel_checks() { return nvgpu::all_checks(); }

}  // namespace doorbell::emu::cuda
