// NVIDIA's names of classes, and which classes a chip has.
#include "drivers/nv/hw/class_id.h"

#include "base/util/named.h"

namespace doorbell::nv::hw {

namespace {

using enum ClassId;
// clang-format off
constexpr ChipClasses kChips[] = {
  {"sm_75", TuringUsermodeA, TuringChannelGpfifoA, TuringComputeA, TuringDmaCopyA},
  {"sm_80", AmpereUsermodeA, AmpereChannelGpfifoA, AmpereComputeA, AmpereDmaCopyA},
  {"sm_86", AmpereUsermodeA, AmpereChannelGpfifoA, AmpereComputeB, AmpereDmaCopyB},
  {"sm_89", AmpereUsermodeA, AmpereChannelGpfifoA, AdaComputeA, AmpereDmaCopyB},
  {"sm_90", HopperUsermodeA, HopperChannelGpfifoA, HopperComputeA, HopperDmaCopyA},
  {"sm_100", HopperUsermodeA, BlackwellChannelGpfifoA, BlackwellComputeA, BlackwellDmaCopyA},
  {"sm_120", BlackwellUsermodeA, BlackwellChannelGpfifoB, BlackwellComputeB, BlackwellDmaCopyB},
};
// clang-format on

}  // namespace

const ChipClasses* find_classes(std::string_view chip) { return find_named(kChips, chip); }
std::string chips_with_classes() { return names_of(kChips); }

std::string_view name_of(ClassId id) {
  switch (id) {
    case ClassId::None: break;
    case ClassId::VoltaUsermodeA: return "VOLTA_USERMODE_A";
    case ClassId::TuringUsermodeA: return "TURING_USERMODE_A";
    case ClassId::AmpereUsermodeA: return "AMPERE_USERMODE_A";
    case ClassId::HopperUsermodeA: return "HOPPER_USERMODE_A";
    case ClassId::BlackwellUsermodeA: return "BLACKWELL_USERMODE_A";
    case ClassId::TuringChannelGpfifoA: return "TURING_CHANNEL_GPFIFO_A";
    case ClassId::AmpereChannelGpfifoA: return "AMPERE_CHANNEL_GPFIFO_A";
    case ClassId::HopperChannelGpfifoA: return "HOPPER_CHANNEL_GPFIFO_A";
    case ClassId::BlackwellChannelGpfifoA: return "BLACKWELL_CHANNEL_GPFIFO_A";
    case ClassId::BlackwellChannelGpfifoB: return "BLACKWELL_CHANNEL_GPFIFO_B";
    case ClassId::TuringComputeA: return "TURING_COMPUTE_A";
    case ClassId::AmpereComputeA: return "AMPERE_COMPUTE_A";
    case ClassId::AmpereComputeB: return "AMPERE_COMPUTE_B";
    case ClassId::AdaComputeA: return "ADA_COMPUTE_A";
    case ClassId::HopperComputeA: return "HOPPER_COMPUTE_A";
    case ClassId::BlackwellComputeA: return "BLACKWELL_COMPUTE_A";
    case ClassId::BlackwellComputeB: return "BLACKWELL_COMPUTE_B";
    case ClassId::TuringDmaCopyA: return "TURING_DMA_COPY_A";
    case ClassId::AmpereDmaCopyA: return "AMPERE_DMA_COPY_A";
    case ClassId::AmpereDmaCopyB: return "AMPERE_DMA_COPY_B";
    case ClassId::HopperDmaCopyA: return "HOPPER_DMA_COPY_A";
    case ClassId::BlackwellDmaCopyA: return "BLACKWELL_DMA_COPY_A";
    case ClassId::BlackwellDmaCopyB: return "BLACKWELL_DMA_COPY_B";
  }
  return {};
}

}  // namespace doorbell::nv::hw
