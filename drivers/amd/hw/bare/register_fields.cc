// Which record is in which register.
#include "drivers/amd/hw/bare/register_fields.h"

#include "drivers/amd/hw/bare/fields.h"

namespace doorbell::amd::hw {
namespace {

template <class T>
std::vector<NamedField> names_in(const T& record) {
  std::vector<NamedField> fields;
  T::fields(record, [&](const char* name, Bits, const auto& value, Shift = {}) {
    fields.push_back({name, static_cast<u64>(value)});
  });
  return fields;
}

template <class T>
std::vector<NamedField> fields_in(u32 word) {
  return names_in(fields_of<T>(word));
}

}  // namespace

std::vector<NamedField> register_fields(Reg reg, u32 word, BareChip chip) {
  switch (reg) {
    case Reg::GcvmInvalidateEng17Req:
    case Reg::MmvmInvalidateEng17Req:
      return chip == BareChip::Gc94 ? fields_in<InvalidateRequestGc94>(word)
                                    : fields_in<InvalidateRequest>(word);
    case Reg::GcvmContext0Cntl:
    case Reg::MmvmContext0Cntl:
      return chip == BareChip::Gc12 ? fields_in<VmContextControlGc12>(word)
                                    : fields_in<VmContextControl>(word);
    case Reg::GcvmL2ProtectionFaultStatus: return fields_in<FaultStatus>(word);
    case Reg::GcmcVmMxL1TlbCntl:
    case Reg::MmmcVmMxL1TlbCntl: return fields_in<L1TlbControl>(word);
    case Reg::GcvmL2Cntl:
    case Reg::MmvmL2Cntl: return fields_in<L2Control>(word);
    case Reg::GrbmGfxCntl: return fields_in<GrbmSelect>(word);
    case Reg::CpMecRs64Cntl: return fields_in<MecControl>(word);
    case Reg::IhRbCntl: return fields_in<IhRingControl>(word);
    case Reg::Sdma0Queue0RbCntl: return fields_in<CopyRingControl>(word);
    case Reg::Doorbell0CtrlEntry1: return fields_in<DoorbellRange>(word);
    case Reg::S2aDoorbellEntry0Ctrl:
    case Reg::S2aDoorbellEntry1Ctrl:
    case Reg::S2aDoorbellEntry2Ctrl:
    case Reg::S2aDoorbellEntry3Ctrl: return fields_in<DoorbellEntry>(word);
    default: return {};
  }
}

std::vector<NamedField> page_entry_fields(u64 bits, BareChip chip) {
  const PageEntry entry = entry_of(bits, chip);
  switch (chip) {
    case BareChip::Gc11: return names_in(PageEntryGc11{entry});
    case BareChip::Gc12: return names_in(PageEntryGc12{entry});
    case BareChip::Gc94: break;
  }
  return names_in(PageEntryGc94{entry});
}

}  // namespace doorbell::amd::hw
