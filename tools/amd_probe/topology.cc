// What the kernel tells of the GPU, against the table of chips and against itself.
#include <fmt/format.h>

#include "base/util/try.h"
#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/ioctl.h"
#include "drivers/amd/hw/isa/chip.h"
#include "tools/amd_probe/card.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;

// Of the GPU's own memory, all banks; 0 where the topology has none.
u64 video_memory(const Card& card) {
  constexpr u64 kPublic = 1, kPrivate = 2;  // HSA_MEM_HEAP_TYPE_FB_* [Linux kfd_crat.h]
  os::Files& files = card.kfd->files();
  const std::string folder =
      fmt::format("{}/{}/mem_banks", hw::kTopologyNodes, card.gpu.node().number);
  const Result<std::vector<std::string>> banks = files.list(folder);
  u64 bytes = 0;
  for (const std::string& bank : banks ? *banks : std::vector<std::string>()) {
    const Result<std::string> text = os::read_text(files, folder + "/" + bank + "/properties");
    if (!text) continue;
    const auto number = [&](const std::string& name) -> u64 {
      const usize at = text->find(name + " ");
      return at == std::string::npos ? 0 : std::stoull(text->substr(at + name.size() + 1));
    };
    const u64 heap = number("heap_type");
    if (heap == kPublic || heap == kPrivate) bytes += number("size_in_bytes");
  }
  return bytes;
}

Result<hw::DrmDeviceInfo> ask_drm(const Card& card) {
  const std::string path = fmt::format("/dev/dri/renderD{}", card.properties().drm_render_minor);
  TRY(const std::unique_ptr<os::File> render, card.kfd->files().open(path, os::Access::ReadWrite));
  hw::DrmDeviceInfo info;
  hw::DrmAmdgpuInfo query;
  query.return_pointer = reinterpret_cast<u64>(&info);
  query.return_size = sizeof info;
  query.query = hw::kDrmInfoDevInfo;
  TRY(const int answer, render->ioctl(hw::kRequest<hw::DrmAmdgpuInfo>, &query));
  (void)answer;  // 0
  return info;
}

std::optional<Outcome> check_units(const amd::NodeProperties& node, const hw::Chip& chip) {
  const u64 units = node.compute_units() * node.num_xcc;
  if (node.simd_count % (node.simd_per_cu * node.num_xcc) != 0)
    return differs(Fact::Counts,
                   fmt::format("as many SIMDs on each of {} XCCs, {} in a compute unit",
                               node.num_xcc, node.simd_per_cu),
                   fmt::format("{} SIMDs", node.simd_count));
  if (units > static_cast<u64>(chip.compute_units))
    return differs(
        Fact::Counts,
        fmt::format("at most {} compute units of a {}", chip.compute_units, chip.name),
        fmt::format("{}: {} SIMDs, {} in each", units, node.simd_count, node.simd_per_cu));
  if (node.array_count * node.cu_per_simd_array < units)
    return differs(Fact::Counts,
                   fmt::format("room for {} compute units in the shader arrays", units),
                   fmt::format("{} arrays of {}", node.array_count, node.cu_per_simd_array));
  return {};
}

std::optional<Outcome> check_sizes(const amd::NodeProperties& node, const hw::Chip& chip) {
  struct Number {
    const char* name;
    u64 ours, seen;
  };
  for (const Number& one :
       {Number{"items in a wave", static_cast<u64>(chip.wave_size), node.wave_front_size},
        Number{"KiB of LDS", static_cast<u64>(chip.group_lds) >> 10, node.lds_size_in_kb}})
    if (one.ours != one.seen)
      return differs(Fact::Counts, fmt::format("{} {} on {}", one.ours, one.name, chip.name),
                     fmt::format("{}", one.seen));
  return {};
}

// DRM counts the same GPU; of packages with several XCCs, which KFD may show in parts, it may count
// otherwise.
std::optional<Outcome> check_drm(const Card& card, const hw::Chip& chip,
                                 const hw::DrmDeviceInfo& info) {
  const u64 units = card.properties().compute_units() * card.properties().num_xcc;
  if (chip.generation() != hw::Generation::Gfx9 && info.cu_active_number != units)
    return differs(Fact::Counts,
                   fmt::format("{} compute units, as DRM counts", info.cu_active_number),
                   fmt::format("{} in KFD's topology", units));
  if (u64{info.gpu_counter_freq} * 1000 != card.caps.timestamp_hz)
    return differs(Fact::ClockRate, fmt::format("{} Hz", card.caps.timestamp_hz),
                   fmt::format("{} kHz, as DRM tells", info.gpu_counter_freq));
  return {};
}

Result<Outcome> check_topology(Card& card) {
  const amd::NodeProperties& node = card.properties();
  const hw::Chip* chip = hw::find_chip(card.caps.arch);
  if (chip == nullptr) return not_tried(fmt::format("{} has no row", card.caps.arch));
  if (std::optional<Outcome> found = check_units(node, *chip)) return *found;
  if (std::optional<Outcome> found = check_sizes(node, *chip)) return *found;
  TRY(const hw::DrmDeviceInfo info, ask_drm(card));
  if (std::optional<Outcome> found = check_drm(card, *chip, info)) return *found;
  return ok(fmt::format(
      "{}: {} compute units of {} SIMDs, waves of {}, {} KiB LDS, {} XCC{}, {} shader arrays, "
      "{} MiB VRAM, {} copy engines; firmware: compute {}, copy {}; KFD 1.{}",
      card.caps.arch, node.compute_units() * node.num_xcc, node.simd_per_cu, node.wave_front_size,
      node.lds_size_in_kb, node.num_xcc, node.num_xcc == 1 ? "" : "s", node.array_count,
      video_memory(card) >> 20, node.num_sdma_engines, node.fw_version, node.sdma_fw_version,
      card.kfd->minor_version()));
}

// The kernel tells what CREATE_QUEUE must be given; kernels before 6.13 do not.
Result<Outcome> check_save_area(Card& card) {
  amd::NodeProperties node = card.properties();
  const u64 told = node.cwsr_size, told_stack = node.ctl_stack_size;
  if (told == 0) return not_tried("this kernel does not tell the size");
  node.cwsr_size = node.ctl_stack_size = 0;
  const amd::SaveArea ours = amd::save_area_of(card.caps, node, card.kfd->page_bytes());
  if (ours.context_bytes != told || ours.control_stack_bytes != told_stack)
    return differs(Fact::SaveAreas,
                   fmt::format("{} bytes, {} of them control stack", ours.context_bytes,
                               ours.control_stack_bytes),
                   fmt::format("{} and {}", told, told_stack));
  return ok(fmt::format("{} bytes of an XCC, {} of them control stack", told, told_stack));
}

constexpr Fact kTopologyFacts[] = {Fact::Counts, Fact::ClockRate};
constexpr Fact kSaveAreaFacts[] = {Fact::SaveAreas};
constexpr Step kSteps[] = {
    {"topology", kTopologyFacts, "", false, check_topology},
    {"save area", kSaveAreaFacts, "", false, check_save_area},
};

}  // namespace

std::span<const Step> topology_steps() { return kSteps; }

}  // namespace doorbell::tools
