// From a cubin to the QMD and constant bank of a launch.
#include "drivers/nv/program.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/nv/device.h"

namespace doorbell::nv {
namespace {

using hw::QmdField;

u32 round_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

// A configuration of an SM's memory: KiB that are shared memory, the rest is the L1 cache. The
// field counts units of 4 KiB, from 1. Chips have some of less than 32 KiB, too, which would only
// let fewer blocks run. [tinygrad ops_nv.py NVProgram; CUDA Programming Guide
// "Shared Memory" of 8.x, 9.0, 10.x and 12.0]
u32 shared_config(u32 kib) { return kib / 4 + 1; }
std::span<const u32> shared_sizes(u32 chip) {
  static constexpr std::array<u32, 3> kSmall = {32, 64, 100};
  static constexpr std::array<u32, 5> kAmpere = {32, 64, 100, 132, 164};
  static constexpr std::array<u32, 7> kLarge = {32, 64, 100, 132, 164, 196, 228};
  if (chip == 80 || chip == 87) return kAmpere;
  if (chip == 90 || chip == 100 || chip == 103) return kLarge;
  return kSmall;
}

}  // namespace

NvProgram::NvProgram(const core::Binary& binary, NvDevice& device, hw::QmdVersion version)
    : device_(device),
      name_(device.keep_name(binary.name)),
      params_(binary.param_count),
      variables_(binary.variable_count),
      unaligned_(binary),
      qmd_(version) {}

NvProgram::~NvProgram() {
  if (code_.bytes != 0) device_.release_code(code_);
}

Result<std::unique_ptr<core::Program>> NvProgram::make(const core::Binary& binary,
                                                       NvDevice& device) {
  TRY(Cubin cubin, Cubin::load(binary.image, binary.name));
  cubin.shared_bytes += static_cast<u32>(binary.dynamic_shared_bytes);
  const auto version = hw::qmd_version(device.gpu().classes().compute);
  CHECK(version, "a compute class without QMDs");
  std::unique_ptr<NvProgram> program(new NvProgram(binary, device, *version));
  TRY(program->check(binary, cubin));
  TRY(program->find_arguments(cubin));
  TRY(program->code_, device.place_code(cubin));
  TRY(device.grow_local_memory(cubin.stack_bytes + hw::kStackReserved));
  program->make_bank(binary, cubin);
  program->make_qmd(binary, cubin);
  return std::unique_ptr<core::Program>(std::move(program));
}

// Refuses kernels that would hang or fault.
Result<void> NvProgram::check(const core::Binary& binary, const Cubin& cubin) const {
  constexpr i64 kMaxThreads = 1024, kRegisters = 65536, kRegisterUnit = 256, kWarp = 32;
  const auto& size = binary.group_items;
  const i64 threads = size[0] * size[1] * size[2];
  const std::string chip = "sm_" + std::to_string(cubin.chip);
  if (chip != device_.gpu().shape().chip())
    return fail(ErrorKind::Invalid, "kernel {} is for {}, {} is a {}", name_, chip, device_.name(),
                device_.gpu().shape().chip());
  if (threads < 1 || threads > kMaxThreads || size[2] > 64)
    return fail(ErrorKind::Unsupported,
                "kernel {} has blocks of {} x {} x {} threads, {} runs at most {}", name_, size[0],
                size[1], size[2], device_.name(), kMaxThreads);
  const i64 of_warp = round_up(std::max(cubin.registers, 1u) * kWarp, kRegisterUnit);
  if (const i64 warps = (threads + kWarp - 1) / kWarp; warps * of_warp > kRegisters)
    return fail(ErrorKind::Unsupported,
                "kernel {} has blocks of {} threads with {} registers, a block has {} registers",
                name_, threads, cubin.registers, kRegisters);
  const auto& most = cubin.most_threads;
  const i64 most_threads = i64{most[0]} * most[1] * most[2];
  if (most_threads != 0 && threads > most_threads)
    return fail(ErrorKind::Invalid,
                "kernel {} is launched with blocks of {} threads, compiled for at most {}", name_,
                threads, most_threads);
  const auto& wanted = cubin.required_block;
  if (wanted[0] != 0 && (wanted[0] != size[0] || wanted[1] != size[1] || wanted[2] != size[2]))
    return fail(ErrorKind::Invalid,
                "kernel {} is launched with blocks of {} x {} x {} threads, compiled for {} x {} "
                "x {}",
                name_, size[0], size[1], size[2], wanted[0], wanted[1], wanted[2]);
  if (cubin.shared_bytes > shared_sizes(cubin.chip).back() << 10)
    return fail(ErrorKind::Unsupported, "kernel {} needs {} bytes of shared memory, {} has {}",
                name_, cubin.shared_bytes, device_.name(), shared_sizes(cubin.chip).back() << 10);
  return {};
}

Result<void> NvProgram::find_arguments(const Cubin& cubin) {
  if (cubin.parameters.size() != params_ + variables_)
    return fail(ErrorKind::Invalid,
                "kernel {} takes {} parameters, {} buffers and {} variables "
                "were expected",
                name_, cubin.parameters.size(), params_, variables_);
  for (usize i = 0; i < cubin.parameters.size(); ++i) {
    const Cubin::Parameter& one = cubin.parameters[i];
    const bool is_wide = one.bytes == 8;
    if ((!is_wide && (one.bytes != 4 || i < params_)) || one.offset % 4 != 0)
      return fail(ErrorKind::Invalid, "parameter {} of kernel {} has {} bytes at {}", i, name_,
                  one.bytes, one.offset);
    arguments_.push_back({(cubin.parameter_base + one.offset) / 4, is_wide});
  }
  return {};
}

void NvProgram::make_bank(const core::Binary& binary, const Cubin& cubin) {
  const hw::ConstantBank0& at = hw::bank0_of_chip(cubin.chip);
  constexpr u32 kUnit = 16;  // bytes in which the descriptor counts
  bank_.assign(round_up(cubin.parameter_base + cubin.parameter_bytes, kUnit) / 4, 0);
  const auto put_64 = [&](u32 offset, u64 value) {
    std::memcpy(bank_.data() + offset / 4, &value, sizeof value);
  };
  for (u32 i = 0; i < 3; ++i) {
    bank_[at.block_dim / 4 + i] = static_cast<u32>(binary.group_items[i]);
    bank_[at.grid_dim / 4 + i] = static_cast<u32>(binary.grid_groups[i]);
  }
  put_64(at.shared_window, NvDevice::kSharedWindow);
  put_64(at.local_window, NvDevice::kLocalWindow);
  bank_[at.stack_pointer / 4] = hw::kStackTop;
}

// As tinygrad fills it, but for the sizes of banks, see docs/hw/nv.md.
void NvProgram::make_qmd(const core::Binary& binary, const Cubin& cubin) {
  using enum QmdField;
  constexpr u64 kGroup = 0x3f, kGridCta = 2, kSystemMembar = 1, kMostPrefetch = 0x1ff;
  constexpr u32 kLocalUnit = 32, kSharedUnit = 128;
  const u64 program = code_.address + cubin.entry_offset;
  const auto sizes = shared_sizes(cubin.chip);
  const u32 shared = round_up(cubin.shared_bytes, kSharedUnit);
  const u32 config = shared_config(
      *std::ranges::find_if(sizes, [&](u32 kib) { return kib << 10 >= cubin.shared_bytes; }));
  qmd_.set(QmdGroupId, kGroup)
      .set(ApiVisibleCallLimit, 1)
      .set(SamplerIndex, 1)
      .set(InvalidateTextureHeaderCache, 1)
      .set(InvalidateTextureSamplerCache, 1)
      .set(InvalidateTextureDataCache, 1)
      .set(InvalidateShaderDataCache, 1)
      .set(CwdMembarType, kSystemMembar)
      .set(SassVersion, device_.gpu().shape().sass_version())
      .set(ProgramAddress, program)
      .set(ProgramPrefetchAddrLowerShifted, program >> 8 & ~u32{0})
      .set(ProgramPrefetchAddrUpperShifted, program >> 40)
      .set(ProgramPrefetchSize, std::min(cubin.code_bytes >> 8, kMostPrefetch))
      .set(RegisterCount, cubin.registers)
      .set(BarrierCount, std::max(cubin.barriers, 1u))
      .set(SharedMemorySize, shared)
      .set(MinSmConfigSharedMemSize, config)
      .set(TargetSmConfigSharedMemSize, config)
      .set(MaxSmConfigSharedMemSize, shared_config(sizes.back()))
      .set(ShaderLocalMemoryHighSize, round_up(cubin.stack_bytes + hw::kStackReserved, kLocalUnit))
      .set(GridWidth, static_cast<u64>(binary.grid_groups[0]))
      .set(GridHeight, static_cast<u64>(binary.grid_groups[1]))
      .set(GridDepth, static_cast<u64>(binary.grid_groups[2]))
      .set(CtaThreadDimension0, static_cast<u64>(binary.group_items[0]))
      .set(CtaThreadDimension1, static_cast<u64>(binary.group_items[1]))
      .set(CtaThreadDimension2, static_cast<u64>(binary.group_items[2]));
  if (qmd_.version() == hw::QmdVersion::V3_0)
    qmd_.set(SmGlobalCachingEnable, 1);
  else
    qmd_.set(QmdType, kGridCta);
  qmd_.set(ConstantBufferValid, 1).set(ConstantBufferInvalidate, 1);
  qmd_.set(ConstantBufferSize, bank_.size() * sizeof(u32));
  for (u32 i = 1; i < Cubin::kBanks; ++i) {
    const Cubin::Bank& bank = cubin.banks[i];
    if (bank.bytes == 0) continue;
    qmd_.set(ConstantBufferAddr, code_.address + bank.offset, i)
        .set(ConstantBufferSize, round_up(bank.bytes, 16), i)
        .set(ConstantBufferInvalidate, 1, i)
        .set(ConstantBufferValid, 1, i);
  }
  constexpr u32 kAlignedWords = hw::kQmdAlignment / sizeof(u32);
  data_words_ = round_up(static_cast<u32>(bank_.size()), kAlignedWords) +
                static_cast<u32>(qmd_.words().size());
}

Result<void> NvProgram::launch(std::span<const core::BufferView> buffers,
                               std::span<const i64> variables) {
  u64 bits = 0;
  for (const core::BufferView& view : buffers)
    bits |= view.buffer->memory().address + static_cast<u64>(view.offset);
  TRY(const NvProgram* form, form_for(bits));
  return device_.launch_queue().launch({*form, buffers, variables}, device_.unfinished_copies());
}

Result<const NvProgram*> NvProgram::form_for(u64 address_bits) const {
  if (!unaligned_.is_needed(address_bits)) [[likely]]
    return this;
  TRY(const core::Program* form, unaligned_.get(device_));
  return static_cast<const NvProgram*>(form);
}

void NvProgram::write_arguments(const KernelLaunch& launch, std::span<u32> bank) const {
  check_arguments(launch.buffers.size(), launch.variables.size());
  usize index = 0;
  const auto write = [&](u64 value) {
    const Argument& at = arguments_[index++];
    std::memcpy(bank.data() + at.word, &value, at.is_wide ? 8 : 4);
  };
  for (const core::BufferView& view : launch.buffers) {
    CHECK(&view.buffer->device() == &device_, "kernel {} of {} with a buffer of {}", name_,
          device_.name(), view.buffer->device().name());
    write(view.buffer->memory().address + static_cast<u64>(view.offset));
  }
  for (const i64 variable : launch.variables) write(static_cast<u64>(variable));
}

void NvProgram::check_arguments(usize buffers, usize variables) const {
  CHECK(buffers == params_ && variables == variables_,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers, variables,
        params_, variables_);
}

}  // namespace doorbell::nv
