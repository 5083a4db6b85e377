// Grids into the pipeline, and descriptors by their code (dispatcher.h).
#include "emulator/amd/cp/dispatcher.h"

#include <algorithm>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/kernel_names.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

std::shared_ptr<RaceTask> Dispatcher::begin_dispatch(u32 parts, u64 code) {
  task_.reset();
  if (queue_.races() == nullptr) return nullptr;
  const std::string name = kernel_name_at(gpu_.memory.space(), code);
  task_ = queue_.races()->launch(
      queue_.race_place(name.empty() ? fmt::format("the kernel at {:#x}", code) : "kernel " + name),
      parts);
  return task_;
}

void Dispatcher::launch(const Dispatch& dispatch, std::vector<Snapshot> snapshots) {
  if (gpu_.trace && gpu_.trace->enabled())
    queue_.trace("dispatch",
                 fmt::format("code={:#x} groups={}x{}x{} size={}x{}x{} xcc={}", dispatch.code,
                             dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                             dispatch.group_size[0], dispatch.group_size[1], dispatch.group_size[2],
                             dispatch.xcc));
  if (dispatch.groups[0] == 0 || dispatch.groups[1] == 0 || dispatch.groups[2] == 0) {
    if (task_) task_->end_part();
    return;
  }
  std::vector<Use> uses{{"its code", dispatch.code, hw::kCodeAlignment}};
  for (const Snapshot& taken : snapshots)
    uses.push_back({taken.what, taken.va, taken.bytes.size()});
  bool scratch = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{dispatch.rsrc2}).scratch_en;
  if (u64 bytes = u64{dispatch.scratch_waves} * dispatch.scratch_wave_bytes; scratch && bytes != 0)
    uses.push_back({"its scratch", dispatch.scratch_base, bytes});
  Dispatch launched = dispatch;
  if (gpu_.has_wave_sync) launched.wave_sync = &gpu_.wave_sync;
  launched.task = task_;
  pipeline_.launch(gpu_.launcher->launch(launched, gpu_.caches), std::move(snapshots),
                   std::move(uses), task_);
  if (gpu_.caches) gpu_.caches->posted().launched(queue_.id(), gpu_.caches->last_dispatch());
}

std::optional<Snapshot> Dispatcher::snapshot(const char* what, u64 va, u64 bytes) const {
  const u8* host = gpu_.memory.space().at(va, bytes, false);
  if (host == nullptr || bytes == 0) return std::nullopt;
  return Snapshot{what, va, std::vector<u8>(host, host + bytes)};
}

std::optional<hw::KernelDescriptor> Dispatcher::read_descriptor(u64 va) const {
  std::array<u32, hw::KernelDescriptor::kWords> words{};
  const ActingAs nobody(gpu_.memory, nullptr);
  if (gpu_.memory.read(Client::CommandProcessor, va,
                       std::span(reinterpret_cast<u8*>(words.data()), sizeof words)))
    return std::nullopt;
  return decode<hw::KernelDescriptor>(words);
}

// A launch by registers does not say whose kernel it is, but the loader put the code object's
// descriptors near its code, and each names its entry by distance.
u64 Dispatcher::find_descriptor(u64 entry) {
  constexpr u64 kNear = u64{1} << 20, kStep = hw::kKernelDescriptorBytes;
  auto names_entry = [&](const u8* host, u64 va) {
    std::array<u32, hw::KernelDescriptor::kWords> words;
    std::copy_n(host, kStep, reinterpret_cast<u8*>(words.data()));
    bool reserved = (words[3] | words[6] | words[7] | words[8] | words[9] | words[10]) == 0;
    return va != entry && reserved && (words[4] | u64{words[5]} << 32) == entry - va;
  };
  const AddressSpace& space = gpu_.memory.space();
  Descriptor& known = descriptors_[entry];
  u64 generation = space.generation();
  if (known.none && known.generation == generation) return 0;
  known = {.none = true, .generation = generation};
  const Range* range = space.find(entry);
  if (!range || !range->host) return 0;
  // The nearest: what code that was here before has left behind lies beyond this code's end.
  u64 middle = entry / kStep * kStep;
  for (u64 away = 0; away <= kNear; away += kStep)
    for (u64 va : {middle + away, middle - away})
      if (va >= range->start && va + kStep <= range->end &&
          names_entry(range->host + (va - range->start), va)) {
        known.none = false;
        return va;
      }
  return 0;
}

}  // namespace doorbell::emu::amdgpu
