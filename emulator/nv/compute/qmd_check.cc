// The rules of descriptors of grids.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/nv/compute/qmd_grid.h"
#include "emulator/nv/compute/qmd_unused.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

namespace hw = nv::hw;
using enum hw::QmdField;

// Fields that only the hardware writes, or that belong to kinds of descriptors other than a grid.
constexpr hw::QmdField kHardwareOnly[] = {HwOnlyInnerGet,
                                          HwOnlyInnerPut,
                                          HwOnlySpanListHeadIndex,
                                          HwOnlySpanListHeadIndexValid,
                                          HwOnlySkedNextQmdPointer,
                                          HwOnlyDependenceCounter,
                                          HwOnlyRequireSchedulingPcas};

class QmdChecker {
 public:
  QmdChecker(const QmdGrid& grid, const hw::Qmd& qmd) : grid_(grid), qmd_(qmd) {}

  // What a rule at the level of an error said; empty: nothing.
  const std::string& refusal() const { return refusal_; }

  void check_all() {
    check_version();
    check_reserved();
    check_unused();
    check_dependences();
    check_sizes();
    check_shared();
    check_constants();
    check_registers();
    check_local();
    check_program();
  }

 private:
  u64 get(hw::QmdField field, u32 element = 0) const { return qmd_.get(field, element); }

  void judge(const Check& check, const std::string& what) {
    std::string message =
        fmt::format("{}: the descriptor at {:#x}: {}", grid_.who, grid_.address, what);
    if (grid_.checks.report(check, message) == Level::Error && refusal_.empty())
      refusal_ = std::move(message);
  }

  void check_version() {
    constexpr u64 kGridCta = 2;
    if (get(QmdMinorVersion) != 0)
      judge(kQmdVersion, fmt::format("version {}.{}", get(QmdMajorVersion), get(QmdMinorVersion)));
    if (qmd_.version() != hw::QmdVersion::V3_0 && get(QmdType) != kGridCta)
      judge(kQmdVersion, fmt::format("QMD_TYPE {}, which is not emulated", get(QmdType)));
    if (get(IsQueue) != 0) judge(kQmdVersion, "a queue, which is not emulated");
  }

  void check_reserved() {
    const auto strays = qmd_.stray_bits();
    for (u32 i = 0; i < hw::qmd_words(qmd_.version()); ++i)
      if (strays[i] != 0)
        judge(kQmdReserved, fmt::format("bits {:#x} of word {} are set", strays[i], i));
    for (const hw::QmdField field : kHardwareOnly)
      if (get(field) != 0)
        judge(kQmdReserved, fmt::format("{} is {:#x}", hw::Qmd::name(field), get(field)));
  }

  void check_unused() {
    for (const std::string& field : unused_fields(qmd_)) judge(kQmdUnused, field);
    for (const std::string& field : unknown_fields(qmd_)) judge(kQmdUnknown, field);
    for (const std::string& field : fields_not_emulated(qmd_))
      judge(kQmdVersion, field + ", which is not emulated");
  }

  // A grid with dependences waits until other descriptors have counted them down.
  void check_dependences() {
    if (get(DependenceCounter) != 0)
      judge(kQmdReserved,
            fmt::format("DEPENDENCE_COUNTER is {}, which is not emulated", get(DependenceCounter)));
    // [clc7c0qmd.h, clcbc0qmd.h CWD_MEMBAR_TYPE: L1_NONE, L1_SYSMEMBAR, L1_MEMBAR]
    if (get(CwdMembarType) == 2) judge(kQmdReserved, "CWD_MEMBAR_TYPE 2 does not exist");
  }

  void check_sizes() {
    constexpr u64 kMostThreads = 1024, kMostDepth = 64;
    const u64 x = get(CtaThreadDimension0), y = get(CtaThreadDimension1),
              z = get(CtaThreadDimension2);
    if (x * y * z == 0 || x * y * z > kMostThreads || z > kMostDepth)
      judge(kQmdGrid, fmt::format("blocks of ({}, {}, {}) threads", x, y, z));
    if (get(GridWidth) == 0 || get(GridHeight) == 0 || get(GridDepth) == 0)
      judge(kQmdGrid, fmt::format("a grid of ({}, {}, {}) blocks", get(GridWidth), get(GridHeight),
                                  get(GridDepth)));
  }

  // Configurations are in units of 4 KiB, from 1 for none. [Mesa nak/qmd.rs
  // gv100_sm_config_smem_size()]
  void check_shared() {
    const u64 bytes = get(SharedMemorySize);
    const u64 most = get(MaxSmConfigSharedMemSize), least = get(MinSmConfigSharedMemSize),
              target = get(TargetSmConfigSharedMemSize);
    const u64 limit = u64{grid_.model.shared_kib} * 1024;
    if (bytes % 128 != 0)
      judge(kQmdShared, fmt::format("{} bytes of shared memory, not a multiple of 128", bytes));
    if (bytes > limit)
      judge(kQmdShared, fmt::format("{} bytes of shared memory, the chip has {}", bytes, limit));
    if (least > target || target > most || most > limit / 4096 + 1)
      judge(kQmdShared,
            fmt::format("configurations of shared memory from {} over {} to {}, the chip has {}",
                        least, target, most, limit / 4096 + 1));
    else if (!is_configuration(least) || !is_configuration(target) || !is_configuration(most))
      judge(kQmdShared, fmt::format("configurations of shared memory {}, {} and {}, of which the "
                                    "chip does not have all",
                                    least, target, most));
    else if (bytes > (least - 1) * 4096)
      judge(kQmdShared, fmt::format("{} bytes of shared memory, the least configuration has {}",
                                    bytes, (least - 1) * 4096));
  }

  // [CUDA Programming Guide, "Shared Memory" of compute capability 8.x and 9.0]
  bool is_configuration(u64 value) const {
    constexpr u64 kKib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
    return std::ranges::any_of(
        kKib, [&](u64 kib) { return kib <= grid_.model.shared_kib && value == kib / 4 + 1; });
  }

  void check_constants() {
    constexpr u64 kMost = 0x10000;
    for (u32 i = 0; i < hw::Qmd::elements(ConstantBufferValid); ++i) {
      if (get(ConstantBufferValid, i) == 0) continue;
      const u64 address = get(ConstantBufferAddr, i), bytes = get(ConstantBufferSize, i);
      const Range* range = grid_.space.find(address);
      std::string_view why;
      if (address % 64 != 0) why = "it is not aligned to 64 bytes";
      if (bytes == 0 || bytes > kMost) why = "no such size";
      if (range == nullptr || !range->contains(address, bytes)) why = "some of it is not mapped";
      if (!why.empty())
        judge(kQmdConstants, fmt::format("constant buffer {} of {:#x} bytes at {:#x}: {}", i, bytes,
                                         address, why));
    }
  }

  // Warps get registers in units of 256. [CUDA Programming Guide, "Compute Capabilities"; NVIDIA's
  // occupancy calculator, "Register allocation unit size"]
  void check_registers() {
    const u64 threads =
        get(CtaThreadDimension0) * get(CtaThreadDimension1) * get(CtaThreadDimension2);
    const u64 of_warp = (get(RegisterCount) * 32 + 255) / 256 * 256;
    const u64 all = of_warp * ((threads + 31) / 32);
    if (get(RegisterCount) == 0 || all > 65536)
      judge(kQmdRegisters,
            fmt::format("{} registers of each of {} threads", get(RegisterCount), threads));
    if (get(BarrierCount) > 16) judge(kQmdRegisters, fmt::format("{} barriers", get(BarrierCount)));
  }

  void check_local() {
    const u64 low = get(ShaderLocalMemoryLowSize), high = get(ShaderLocalMemoryHighSize);
    if (low % 16 != 0 || high % 16 != 0)
      judge(kQmdLocal, fmt::format("{:#x} and {:#x} bytes of local memory", low, high));
    if (low + high == 0) return;
    // A warp's is a multiple of 512 bytes. [Mesa src/nouveau/vulkan/nvk_device.c
    // nvk_slm_area_ensure()]
    const Model& model = grid_.model;
    const u64 of_warp = ((low + high) * 32 + 0x1ff) / 0x200 * 0x200;
    // [the same: what SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_B is aligned to]
    if (grid_.local_bytes_of_tpc % 0x8000 != 0)
      judge(kQmdLocal,
            fmt::format("{:#x} bytes of local memory for a TPC, not a multiple of 0x8000",
                        grid_.local_bytes_of_tpc));
    const u64 of_tpc = of_warp * model.warps_per_sm * model.sms_per_tpc;
    const u64 all = grid_.local_bytes_of_tpc * model.tpcs_per_gpc * model.gpcs;
    const Range* range = grid_.space.find(grid_.local_memory);
    if (of_tpc > grid_.local_bytes_of_tpc)
      judge(kQmdLocal, fmt::format("{:#x} bytes of local memory, a TPC needs {:#x} and has {:#x}",
                                   low + high, of_tpc, grid_.local_bytes_of_tpc));
    else if (range == nullptr || !range->contains(grid_.local_memory, all) || !range->writable)
      judge(kQmdLocal, fmt::format("local memory of {:#x} bytes at {:#x} is not mapped", all,
                                   grid_.local_memory));
  }

  void check_program() {
    const u64 address = get(ProgramAddress), version = get(SassVersion);
    const u32 expected = (grid_.model.sm_version & 0xf00) >> 4 | (grid_.model.sm_version & 0xf);
    if (address % 128 != 0) judge(kQmdProgram, fmt::format("code at {:#x}", address));
    // Units of 256 bytes, as the names say: *_SHIFTED. [clc7c0qmd.h PROGRAM_PREFETCH_*]
    const u64 prefetched =
        get(ProgramPrefetchAddrUpperShifted) << 40 | get(ProgramPrefetchAddrLowerShifted) << 8;
    const u64 bytes = get(ProgramPrefetchSize) << 8;
    const Range* range = grid_.space.find(prefetched);
    const bool is_of_program = prefetched <= address && address < prefetched + bytes;
    if (get(ProgramPrefetchType) > 1)
      judge(kQmdProgram,
            fmt::format("PROGRAM_PREFETCH_TYPE {} does not exist", get(ProgramPrefetchType)));
    if (bytes != 0 && (!is_of_program || range == nullptr || !range->contains(prefetched, bytes)))
      judge(kQmdProgram, fmt::format("{:#x} bytes at {:#x} are prefetched, the code is at {:#x}",
                                     bytes, prefetched, address));
    if (version != expected)
      judge(kQmdProgram, fmt::format("SASS_VERSION {:#x}, the chip's is {:#x}", version, expected));
  }

  const QmdGrid& grid_;
  const hw::Qmd& qmd_;
  std::string refusal_;
};

}  // namespace

Result<hw::Qmd> check_qmd(const QmdGrid& grid) {
  // Both versions have the number in the same place.
  const Bits place = hw::Qmd::position(hw::QmdVersion::V3_0, QmdMajorVersion)->bits;
  const u64 major = extract(grid.words, place);
  if (major < 3 || major > grid.model.qmd_major) {
    std::string message = fmt::format("{}: the descriptor at {:#x} has version {}, {} takes {}",
                                      grid.who, grid.address, major, grid.model.name,
                                      grid.model.qmd_major == 3 ? "3" : "3 and 4");
    grid.checks.report(kQmdVersion, message);
    return fail(ErrorKind::Corrupt, "{}", message);
  }
  const auto version = major == 3 ? hw::QmdVersion::V3_0 : hw::QmdVersion::V4_0;
  auto qmd = hw::Qmd::from_words(version, grid.words.first(hw::qmd_words(version)));
  if (!qmd) return qmd;
  QmdChecker checker(grid, *qmd);
  checker.check_all();
  if (!checker.refusal().empty()) return fail(ErrorKind::Corrupt, "{}", checker.refusal());
  return qmd;
}

}  // namespace doorbell::emu::nvgpu
