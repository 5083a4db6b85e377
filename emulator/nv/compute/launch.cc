// Checks a launch against its kernel and its chip, and runs the blocks.
#include "emulator/nv/compute/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kMostThreads = 1024;  // of a block [CUDA Programming Guide, "Compute Capabilities"]

std::string text(const std::array<u32, 3>& size) {
  return fmt::format("({}, {}, {})", size[0], size[1], size[2]);
}

Result<void> check_launch(const CubinKernel& kernel, const Launch& launch) {
  u64 threads = 1;
  for (const u32 size : launch.block) threads *= size;
  const u64 most = kernel.most_threads != 0 ? kernel.most_threads : kMostThreads;
  if (threads == 0 || threads > most)
    return fail(ErrorKind::Invalid, "kernel {} has blocks of {} threads, at most {} are allowed",
                kernel.name, text(launch.block), most);
  if (kernel.required_block[0] != 0 && kernel.required_block != launch.block)
    return fail(ErrorKind::Invalid, "kernel {} needs blocks of {} threads, not of {}", kernel.name,
                text(kernel.required_block), text(launch.block));
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
    return fail(ErrorKind::Invalid, "the grid {} of kernel {} is empty", text(launch.grid),
                kernel.name);
  if (launch.parameters.size() != kernel.parameter_bytes)
    return fail(ErrorKind::Invalid, "kernel {} takes {} bytes of parameters, not {}", kernel.name,
                kernel.parameter_bytes, launch.parameters.size());
  return {};
}

}  // namespace

std::string to_string(const Fault& fault) {
  return fmt::format("{}+{:#x} ({}), block {}, warp {}, lane {}: {}: {}", fault.kernel, fault.pc,
                     fault.instruction, text(fault.block), fault.warp, fault.lane,
                     fault.rule != nullptr ? fault.rule->id : "no rule", fault.message);
}

namespace {

// Words of constant bank 0 that the driver writes before the parameters: sizes of block and grid,
// the addresses' windows and the start of the stack [nvdisasm's text of NVRTC's code, which reads
// them].
constexpr u32 kBlockSize = 0x0, kGridSize = 0xc, kSharedWindowAt = 0x18, kLocalWindowAt = 0x20,
              kStackAt = 0x28;
// On Hopper, the generic address of the parameters, for tensor maps among them.
constexpr u32 kParametersAt = 0x198, kHopperParameters = 0x210;

u32 local_bytes(const CubinKernel& kernel, const Launch& launch) {
  return kernel.local_bytes == 0 ? 0 : std::max(kernel.local_bytes, launch.stack_bytes);
}

std::vector<u8> make_bank0(const CubinKernel& kernel, const Launch& launch) {
  const auto own = kernel.banks.find(0);
  std::vector<u8> bank = own == kernel.banks.end() ? std::vector<u8>() : own->second;
  // Compilers read a parameter of one or two bytes by the word.
  const usize end = (usize{kernel.parameter_base} + launch.parameters.size() + 3) / 4 * 4;
  bank.resize(std::max<usize>({bank.size(), end, kHopperParameters}));
  const auto put = [&](u32 offset, u32 value) { std::memcpy(bank.data() + offset, &value, 4); };
  for (u32 axis = 0; axis < 3; ++axis) {
    put(kBlockSize + 4 * axis, launch.block[axis]);
    put(kGridSize + 4 * axis, launch.grid[axis]);
  }
  const auto put_pair = [&](u32 offset, u64 value) {
    put(offset, static_cast<u32>(value));
    put(offset + 4, static_cast<u32>(value >> 32));
  };
  put_pair(kSharedWindowAt, kSharedWindow);
  put_pair(kLocalWindowAt, kLocalWindow);
  if (kernel.parameter_base == kHopperParameters) put_pair(kParametersAt, kParameterWindow);
  put(kStackAt, local_bytes(kernel, launch));  // it grows down
  std::ranges::copy(launch.parameters, bank.begin() + kernel.parameter_base);
  return bank;
}

}  // namespace

void Grid::set_program(const Program& program) {
  std::vector<u32> beyond;
  start = program.start;
  operations = program.operations;
  constants = read_constants(program, banks, &beyond);
  if (beyond.empty()) return;
  changed_operations = program.operations;
  for (const u32 index : beyond) changed_operations[index].handler = constant_beyond_bank;
  operations = changed_operations;
}

// Registers are allocated to a warp in units of 256. [CUDA Programming Guide, "Compute
// Capabilities"; NVIDIA's occupancy calculator, "Register allocation unit size"]
void Grid::limit_registers(std::span<const RegisterUses> uses, u32 count) {
  constexpr u32 kUnit = 8;
  const u32 limit = (count + kUnit - 1) / kUnit * kUnit;
  const auto is_beyond = [&](const RegisterRange& range) {
    return range.row < kZero && range.count != 0 && range.row + range.count > limit;
  };
  for (usize i = 0; i < uses.size(); ++i) {
    if (!std::ranges::any_of(uses[i].reads, is_beyond) &&
        !std::ranges::any_of(uses[i].writes, is_beyond))
      continue;
    if (changed_operations.empty()) changed_operations.assign(operations.begin(), operations.end());
    changed_operations[i].handler = register_beyond_count;
  }
  if (!changed_operations.empty()) operations = changed_operations;
}

Result<LaunchResult> launch(const Cubin& cubin, const CubinKernel& kernel, const Launch& launch,
                            AddressSpace& memory, Checks& checks) {
  TRY(check_launch(kernel, launch));
  const std::vector<u8> bank0 = make_bank0(kernel, launch);
  Grid grid{.kernel = kernel,
            .launch = launch,
            .memory = memory,
            .checks = checks,
            .local_bytes = local_bytes(kernel, launch)};
  for (const auto& [number, bytes] : cubin.banks()) grid.banks[number] = bytes;
  for (const auto& [number, bytes] : kernel.banks) grid.banks[number] = bytes;
  grid.banks[0] = bank0;
  grid.set_program(cubin.program());
  if (kernel.registers != 0) grid.limit_registers(cubin.register_uses(), kernel.registers);
  if (checks.level(kUndefinedRegister) != Level::Off || checks.level(kMissingWait) != Level::Off)
    grid.uses = cubin.register_uses();
  LaunchResult result;
  result.fault = run_blocks(grid, &result.instructions);
  return result;
}

std::optional<Fault> run_blocks(Grid& grid, u64* instructions) {
  const std::array<u32, 3>& size = grid.launch.grid;
  std::optional<AccessJudge> judge;
  const bool judges_warps = grid.checks.level(kGlobalRace) != Level::Off;
  if (judges_warps || grid.task != nullptr) {
    const u32 threads = grid.launch.block[0] * grid.launch.block[1] * grid.launch.block[2];
    judge.emplace(
        grid.memory, grid.kernel.entry,
        judges_warps ? AccessJudge::between_warps((threads + kLanes - 1) / kLanes) : nullptr,
        grid.task);
    grid.judge = &*judge;
  }
  Counts* const counts = grid.launch.counts;
  KernelCounts counted{.launches = 1};
  InstructionCounter counter(counted, neighbours_cycle);
  std::optional<Fault> fault;
  const u64 blocks = u64{size[0]} * size[1] * size[2];
  for (u64 i = 0; i < blocks && !fault; ++i) {
    const u64 row = i / size[0];
    Block block(grid,
                {static_cast<u32>(i % size[0]), static_cast<u32>(row % size[1]),
                 static_cast<u32>(row / size[1])},
                counts != nullptr ? &counter : nullptr, i);
    if (!block.run()) fault = block.fault();
    if (instructions != nullptr) *instructions += block.instructions();
  }
  grid.judge = nullptr;
  if (counts != nullptr) counts->add(grid.kernel.name, counted);
  return fault;
}

}  // namespace doorbell::emu::nvgpu
