// The table of GPUs. [Classes: NVIDIA/open-gpu-kernel-modules 580.105.08
// src/nvidia/generated/g_gpu_class_list.c gpuGetEngClassDescriptorList_GA102, _AD102, _GH100, those
// of them that compute and its memory need, by the numbers in src/common/sdk/nvidia/inc/class;
// sm_version: ctrl2080gr.h NV2080_CTRL_GR_INFO_SM_VERSION_*; multiprocessors and memory: the data
// sheets of the boards; warps and shared memory: CUDA Programming Guide 13, "Compute Capabilities"]
#include "emulator/nv/model.h"

#include <fmt/format.h>

namespace doorbell::emu::nvgpu {

namespace {

constexpr u64 kGiB = u64{1} << 30;

// FERMI_CONTEXT_SHARE_A, FERMI_VASPACE_A, KEPLER_CHANNEL_GROUP_A, NV01_MEMORY_LOCAL_USER,
// NV01_MEMORY_VIRTUAL, GT200_DEBUGGER, TURING_CHANNEL_GPFIFO_A, TURING_USERMODE_A,
// VOLTA_USERMODE_A, AMPERE_CHANNEL_GPFIFO_A, AMPERE_USERMODE_A; then the chip's own.
constexpr u32 kGa102[] = {0x9067, 0x90f1, 0xa06c, 0x0040, 0x0070, 0x83de, 0xc46f,
                          0xc461, 0xc361, 0xc56f, 0xc561, 0xc7c0, 0xc7b5};
constexpr u32 kAd102[] = {0x9067, 0x90f1, 0xa06c, 0x0040, 0x0070, 0x83de, 0xc46f,
                          0xc461, 0xc361, 0xc56f, 0xc561, 0xc9c0, 0xc7b5};
constexpr u32 kGh100[] = {0x9067, 0x90f1, 0xa06c, 0x0040, 0x0070, 0x83de, 0xc46f, 0xc461,
                          0xc361, 0xc56f, 0xc561, 0xc86f, 0xc661, 0xcbc0, 0xc8b5};

// clang-format off
constexpr Model kModels[] = {
//  name     GPU                          chip PCI    SM
//    GPCs, TPCs, SMs, warps; shared KiB; QMD; address bits; memory; classes
  {"sm_86", "Emulated GeForce RTX 3090", 86, 0x2204, 0x806,
      7,  6, 2, 48, 100, 3, 40, 24 * kGiB, kGa102},
  {"sm_89", "Emulated GeForce RTX 4090", 89, 0x2684, 0x809,
      11, 6, 2, 48, 100, 3, 40, 24 * kGiB, kAd102},
  {"sm_90", "Emulated H100",             90, 0x2330, 0x900,
      8,  9, 2, 64, 228, 4, 57, 80 * kGiB, kGh100},
};
// clang-format on

}  // namespace

Result<std::vector<const Model*>> parse_models(std::string_view text) {
  std::vector<const Model*> found;
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    const Model* model = nullptr;
    std::string known;
    for (const Model& row : kModels) {
      if (row.name == name) model = &row;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    if (model == nullptr)
      return fail(ErrorKind::Invalid, "no emulated machine has a {}; there are {}", name, known);
    found.push_back(model);
    if (name.size() == text.size()) return found;
    text.remove_prefix(name.size() + 1);
  }
}

}  // namespace doorbell::emu::nvgpu
