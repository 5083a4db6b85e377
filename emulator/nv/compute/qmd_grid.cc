// Launches what a descriptor describes: code, constants and sizes come from the GPU's memory.
#include "emulator/nv/compute/qmd_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

namespace hw = nv::hw;
using enum hw::QmdField;

constexpr u64 kMostCode = 1 << 20;

// Where the code may end: at the end of the mapping, or before a run of zeros that no code has.
// The descriptor does not say it.
std::span<const u8> code_at(const Range& range, u64 address) {
  constexpr u64 kZeros = 256;
  const u8* code = range.host + (address - range.start);
  const u64 most = std::min(kMostCode, range.end - address) / sizeof(Words) * sizeof(Words);
  u64 zeros = 0, at = 0;
  for (; at < most && zeros < kZeros; at += sizeof(Words)) {
    u64 halves[2];
    std::memcpy(halves, code + at, sizeof halves);
    zeros = (halves[0] | halves[1]) == 0 ? zeros + sizeof(Words) : 0;
  }
  return {code, at - zeros};
}

// What is mapped before the code, back to a run of zeros.
std::span<const u8> code_before(const Range& range, u64 address) {
  constexpr u64 kZeros = 256;
  const u8* code = range.host + (address - range.start);
  const u64 most = std::min(kMostCode, address - range.start) / sizeof(Words) * sizeof(Words);
  u64 zeros = 0, bytes = 0;
  for (; bytes < most && zeros < kZeros; bytes += sizeof(Words)) {
    u64 halves[2];
    std::memcpy(halves, code - bytes - sizeof(Words), sizeof halves);
    zeros = (halves[0] | halves[1]) == 0 ? zeros + sizeof(Words) : 0;
  }
  return {code - (bytes - zeros), bytes - zeros};
}

// How many of the bytes before the first instruction its jumps may reach, of `most`.
u64 bytes_reached_before(const Program& program, u64 most) {
  u64 reached = 0;
  for (const Operation& op : program.operations) {
    const std::optional<u64> target = jump_target(op, program.start + op.offset);
    if (!target || *target >= program.start) continue;
    reached = std::max(reached, program.start - *target);
  }
  return std::min((reached + sizeof(Words) - 1) / sizeof(Words) * sizeof(Words), most);
}

// Reports a rule of the caches; fails where it is at the level of an error.
Result<void> judge_stale(const QmdGrid& grid, const Check& check, bool is_stale,
                         const std::string& what) {
  if (!is_stale) return {};
  const std::string message = fmt::format("{}: {}", grid.who, what);
  if (grid.checks.report(check, message) == Level::Error)
    return fail(ErrorKind::Corrupt, "{}", message);
  return {};
}

// The descriptor tells what a cubin would.
CubinKernel kernel_of(const hw::Qmd& qmd) {
  const u64 program = qmd.get(ProgramAddress);
  CubinKernel kernel;
  kernel.name = fmt::format("kernel at {:#x}", program);
  kernel.entry = program;
  kernel.registers = static_cast<u32>(qmd.get(RegisterCount));
  kernel.shared_bytes = static_cast<u32>(qmd.get(SharedMemorySize));
  return kernel;
}

Launch launch_of(const QmdGrid& given, const hw::Qmd& qmd) {
  Launch launch;
  launch.grid = {static_cast<u32>(qmd.get(GridWidth)), static_cast<u32>(qmd.get(GridHeight)),
                 static_cast<u32>(qmd.get(GridDepth))};
  launch.block = {static_cast<u32>(qmd.get(CtaThreadDimension0)),
                  static_cast<u32>(qmd.get(CtaThreadDimension1)),
                  static_cast<u32>(qmd.get(CtaThreadDimension2))};
  launch.most_instructions = given.most_instructions;
  launch.counts = given.counts;
  return launch;
}

}  // namespace

std::shared_ptr<const GridCaches::Code> GridCaches::code(u64 address, std::span<const u8> before,
                                                         std::span<const u8> bytes, u32 chip,
                                                         bool serve_stale, bool* is_stale) {
  std::shared_ptr<Code>& cached = code_[address];
  const bool is_same = cached && std::ranges::equal(cached->bytes, bytes);
  *is_stale = cached && !is_same && cached->is_current;
  const bool is_before_same =
      cached && cached->before.size() <= before.size() &&
      std::ranges::equal(cached->before, before.last(cached->before.size()));
  if ((is_same && is_before_same) || (*is_stale && serve_stale)) {
    cached->is_current = true;
    return cached;
  }
  cached = std::make_shared<Code>();
  cached->bytes.assign(bytes.begin(), bytes.end());
  cached->program = decode(bytes, address, chip);
  // Functions that are reached may themselves jump further back.
  for (u64 taken = 0;;) {
    const u64 more = bytes_reached_before(cached->program, before.size() - taken);
    if (more == 0) break;
    taken += more;
    const auto first = before.last(taken);
    cached->before.assign(first.begin(), first.end());
    std::vector<u8> all = cached->before;
    all.insert(all.end(), bytes.begin(), bytes.end());
    cached->program = decode(all, address - taken, chip);
  }
  cached->uses = nvgpu::register_uses(cached->program);
  return cached;
}

void GridCaches::invalidate_code() {
  for (auto& [address, code] : code_) code->is_current = false;
}

std::vector<u8> GridCaches::constants(u64 address, std::span<const u8> bytes, bool is_invalidated,
                                      bool serve_stale, bool* is_stale) {
  std::vector<u8>& cached = constants_[address];
  const usize common = std::min(cached.size(), bytes.size());
  *is_stale = !is_invalidated &&
              !std::equal(cached.begin(), cached.begin() + static_cast<i64>(common), bytes.begin());
  if (!*is_stale || !serve_stale || cached.size() < bytes.size())
    cached.assign(bytes.begin(), bytes.end());
  return cached;
}

std::string describe_grid(const QmdGrid&, const hw::Qmd& qmd) {
  return fmt::format("grid ({}, {}, {}), block ({}, {}, {}), code at {:#x}", qmd.get(GridWidth),
                     qmd.get(GridHeight), qmd.get(GridDepth), qmd.get(CtaThreadDimension0),
                     qmd.get(CtaThreadDimension1), qmd.get(CtaThreadDimension2),
                     qmd.get(ProgramAddress));
}

namespace {

// The grid reads a constant buffer.
Result<void> judge_race(const QmdGrid& grid, u32 number, u64 address, const u8* host, u64 bytes) {
  if (grid.task == nullptr) return {};
  const auto conflict = grid.task->access(host, bytes, AgentAccess::Read);
  if (!conflict) return {};
  const std::string message =
      fmt::format("{} reads constant buffer {} at {:#x}, {}, {}", grid.task->who(), number, address,
                  grid.space.describe(address), grid.task->describe(*conflict));
  if (grid.checks.report(kAgentRace, message) == Level::Error)
    return fail(ErrorKind::Corrupt, "{}", message);
  return {};
}

// The descriptor's constant buffers, as the caches have them.
Result<void> bind_banks(const QmdGrid& given, const hw::Qmd& qmd,
                        std::map<u32, std::vector<u8>>* banks, Grid* grid) {
  bool is_stale = false;
  for (u32 i = 0; i < hw::Qmd::elements(ConstantBufferValid); ++i) {
    if (qmd.get(ConstantBufferValid, i) == 0) continue;
    const u64 address = qmd.get(ConstantBufferAddr, i);
    const Range* bank = given.space.find(address);
    if (bank == nullptr || bank->host == nullptr) continue;  // a rule has told it
    const u64 bytes = std::min({qmd.get(ConstantBufferSize, i), bank->end - address, u64{0x10000}});
    const u8* const host = bank->host + (address - bank->start);
    if (auto good = judge_race(given, i, address, host, bytes); !good) return good;
    const bool is_invalidated =
        qmd.get(ConstantBufferInvalidate, i) != 0 || qmd.get(InvalidateShaderConstantCache) != 0;
    (*banks)[i] = given.caches.constants(address, {host, bytes}, is_invalidated, given.adversarial,
                                         &is_stale);
    if (given.show_bank) given.show_bank(i, &(*banks)[i]);
    grid->banks[i] = (*banks)[i];
    if (auto good = judge_stale(given, kStaleConstants, is_stale,
                                fmt::format("constant buffer {} at {:#x} has changed since it was "
                                            "read, and the constant caches were not invalidated",
                                            i, address));
        !good)
      return good;
  }
  return {};
}

}  // namespace

Result<std::optional<Fault>> run_qmd(const QmdGrid& given, const hw::Qmd& qmd) {
  const u64 program = qmd.get(ProgramAddress);
  const CubinKernel kernel = kernel_of(qmd);
  const Launch launch = launch_of(given, qmd);

  const Range* range = given.space.find(program);
  if (range == nullptr || range->host == nullptr)
    return std::optional<Fault>(
        {.kernel = kernel.name,
         .rule = &kCodeFetch,
         .address = program,
         .message = "the code is not mapped: " + given.space.describe(program)});
  if (qmd.get(InvalidateInstructionCache) != 0) given.caches.invalidate_code();
  bool is_stale = false;
  const auto code =
      given.caches.code(program, code_before(*range, program), code_at(*range, program),
                        given.model.chip, given.adversarial, &is_stale);
  if (auto good = judge_stale(given, kStaleCode, is_stale,
                              fmt::format("the code at {:#x} has changed since it was run, and "
                                          "the instruction caches were not invalidated",
                                          program));
      !good)
    return std::move(good).error();

  Grid grid{.kernel = kernel,
            .launch = launch,
            .memory = given.space,
            .checks = given.checks,
            .barriers = static_cast<u32>(qmd.get(BarrierCount)),
            .local_bytes = static_cast<u32>(qmd.get(ShaderLocalMemoryLowSize)),
            .local_high_bytes = static_cast<u32>(qmd.get(ShaderLocalMemoryHighSize)),
            .shared_window = given.shared_window,
            .local_window = given.local_window,
            .data_caches = given.data_caches,
            .task = given.task};
  if (given.data_caches != nullptr && qmd.get(InvalidateShaderDataCache) != 0)
    given.data_caches->invalidate();
  std::map<u32, std::vector<u8>> banks;
  if (auto good = bind_banks(given, qmd, &banks, &grid); !good) return std::move(good).error();
  grid.set_program(code->program);
  grid.limit_registers(code->uses, static_cast<u32>(qmd.get(RegisterCount)));
  if (given.checks.level(kUndefinedRegister) != Level::Off ||
      given.checks.level(kMissingWait) != Level::Off)
    grid.uses = code->uses;
  return run_blocks(grid, nullptr);
}

}  // namespace doorbell::emu::nvgpu
