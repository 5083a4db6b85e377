// Every register that the driver writes when it starts a GPU and puts queues on it, left out: the
// start fails, or a rule is broken, or a kernel's result is wrong; or it is listed here with the
// reason why nobody can tell. And commands to the security processor that are left out.
#include <cstdlib>
#include <map>
#include <set>

#include "drivers/amd/hw/bare/registers.h"
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

using hw::Reg;

// Nobody can tell that these are not written, because of what is said.
const std::map<Reg, const char*> kSurvivors = {
    {Reg::GcmcVmAgpBase, "of an aperture that is shut"},
    {Reg::MmmcVmAgpBase, "of an aperture that is shut"},
    {Reg::GcmcVmSystemApertureDefaultAddrLsb, "where stray accesses go, of which there are none"},
    {Reg::GcmcVmSystemApertureDefaultAddrMsb, "the same"},
    {Reg::MmmcVmSystemApertureDefaultAddrLsb, "the same"},
    {Reg::MmmcVmSystemApertureDefaultAddrMsb, "the same"},
    {Reg::GcvmL2ProtectionFaultDefaultAddrLo32, "where a fault's data come from, unspecified"},
    {Reg::GcvmL2ProtectionFaultDefaultAddrHi32, "the same"},
    {Reg::MmvmL2ProtectionFaultDefaultAddrLo32, "the same"},
    {Reg::MmvmL2ProtectionFaultDefaultAddrHi32, "the same"},
    {Reg::GcvmL2ProtectionFaultCntl2, "about pages that migrate, which ours do not"},
    {Reg::MmvmL2ProtectionFaultCntl2, "the same"},
    {Reg::GcvmL2Cntl2, "forgets what a TLB has that just came on"},
    {Reg::MmvmL2Cntl2, "the same"},
    {Reg::GcvmL2Cntl3, "sizes of caches: speed"},
    {Reg::GcvmL2Cntl4, "the same"},
    {Reg::GcvmL2Cntl5, "the same"},
    {Reg::MmvmL2Cntl3, "the same"},
    {Reg::MmvmL2Cntl4, "the same"},
    {Reg::MmvmL2Cntl5, "the same"},
    {Reg::GcvmL2Context1IdentityApertureLowAddrLo32, "of contexts that are not on"},
    {Reg::GcvmL2Context1IdentityApertureLowAddrHi32, "the same"},
    {Reg::GcvmL2Context1IdentityApertureHighAddrLo32, "the same"},
    {Reg::GcvmL2Context1IdentityApertureHighAddrHi32, "the same"},
    {Reg::GcvmL2ContextIdentityPhysicalOffsetLo32, "the same"},
    {Reg::GcvmL2ContextIdentityPhysicalOffsetHi32, "the same"},
    {Reg::MmvmL2Context1IdentityApertureLowAddrLo32, "the same"},
    {Reg::MmvmL2Context1IdentityApertureLowAddrHi32, "the same"},
    {Reg::MmvmL2Context1IdentityApertureHighAddrLo32, "the same"},
    {Reg::MmvmL2Context1IdentityApertureHighAddrHi32, "the same"},
    {Reg::MmvmL2ContextIdentityPhysicalOffsetLo32, "the same"},
    {Reg::MmvmL2ContextIdentityPhysicalOffsetHi32, "the same"},
    {Reg::MmvmL2BankSelectReservedCid2, "private caches of display and video"},
    {Reg::IhRbWptrAddrHi,
     "where the write pointer is kept too, which the driver reads by register"},
    {Reg::IhRbWptrAddrLo, "the same"},
    {Reg::IhDoorbellRptr, "0, as it is after a reset"},
    {Reg::IhStormClientListCntl, "against more interrupts than there are"},
    {Reg::IhIntFloodCntl, "the same"},
    {Reg::IhMsiStormCtrl, "the same"},
    {Reg::RccDev0Epf2Strap2, "about a function's reset that nobody asks for"},
    {Reg::TcpCntl, "a bit without a name"},
    {Reg::RlcCntl, "clocks and power gating, which are not emulated"},
    {Reg::RlcSrmCntl, "the same"},
    {Reg::RlcSpmMcCntl, "for profiling"},
    {Reg::GrbmCntl, "how long a register is waited for"},
    {Reg::S2aDoorbellEntry3Ctrl, "of the scheduling processor, which has no firmware"},
    {Reg::SpiComputeQueueReset, "goes with a dequeue, which is enough here"},
    {Reg::ScratchReg6, "what the next process is told"},
    {Reg::ScratchReg7, "the same"},
    {Reg::Sdma0WatchdogCntl, "when the engine says that a queue hangs"},
    {Reg::Sdma0Utcl1Cntl, "how often a translation is tried again"},
    {Reg::Sdma0Utcl1Page, "policies of the L2"},
    {Reg::Sdma0Queue0IbCntl, "the driver's first copies are in no indirect buffer"},
    {Reg::Sdma0Queue0MinorPtrUpdate, "left out whole it holds nothing"},
    {Reg::GrbmSoftReset, "the engine is not used again here"},
};

// Where a run ended with a filter: "" if all was well.
std::string outcome(const std::string& chip, const WriteFilter& filter) {
  PciMachine machine({.gpus = {chip}, .lockstep = true});
  std::string why;
  {
    auto process = machine.start(filter);
    if (!process) return process.error().message;
    auto device = machine.open(**process, 0, {.timeout_ns = 50'000'000});
    if (!device) return device.error().message;
    why = run_kernel(**device, chip);
  }
  machine.machine->tell_leaks();
  std::lock_guard lock(machine.mutex);
  if (!machine.reports.empty()) return to_string(machine.reports[0]);
  return why;
}

// A run tries one of `share`, chosen by DOORBELL_SEED; DOORBELL_WHOLE_TESTS=1 all.
bool is_whole() {
  const char* const whole = std::getenv("DOORBELL_WHOLE_TESTS");
  return whole != nullptr && std::string_view(whole) != "0";
}
u64 seed() {
  const char* const seed = std::getenv("DOORBELL_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}
bool tries(usize index, usize share) { return is_whole() || (index + seed()) % share == 0; }

struct Chip {
  const char* name;
  hw::BareChip chip;
};
struct PciMutation : ::testing::TestWithParam<Chip> {
  std::string outcome(const WriteFilter& filter) const {
    return amd::outcome(GetParam().name, filter);
  }
  u64 address(Reg reg) const { return address_of(reg, GetParam().chip); }
  // Each register that a whole run writes, and with what words.
  std::map<Reg, std::set<u32>> written() const {
    std::map<u64, Reg> names;
    for (usize i = 0; i < hw::kRegisters; ++i)
      names[address(static_cast<Reg>(i))] = static_cast<Reg>(i);
    std::map<Reg, std::set<u32>> found;
    EXPECT_EQ(outcome([&](u64 word, u32& value) {
                if (const auto name = names.find(word); name != names.end())
                  found[name->second].insert(value);
                return true;
              }),
              "");
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(All, PciMutation,
                         ::testing::Values(Chip{"gfx1100", hw::BareChip::Gc11},
                                           Chip{"gfx1201", hw::BareChip::Gc12}),
                         [](const auto& info) { return info.param.name; });

TEST_P(PciMutation, EveryRegisterThatIsLeftOutIsMissed) {
  const std::map<Reg, std::set<u32>> all = written();
  EXPECT_GE(all.size(), 100u);
  usize caught = 0, tried = 0, index = 0;
  for (const auto& [reg, words] : all) {
    if (!tries(index++, 12)) continue;
    ++tried;
    const u64 at = address(reg);
    const std::string why = outcome([&](u64 word, u32&) { return word != at; });
    const auto listed = kSurvivors.find(reg);
    const auto name = hw::place_of(reg, GetParam().chip).name;
    if (why.empty())
      EXPECT_TRUE(listed != kSurvivors.end()) << name << " is left out, and missed by nobody";
    else
      EXPECT_TRUE(listed == kSurvivors.end())
          << name << " is listed as a survivor, and caught: " << why;
    caught += why.empty() ? 0 : 1;
  }
  std::printf("%zu of %zu registers are missed when they are not written\n", caught, tried);
}

// All but the SMU's and the memory for firmware go by this mailbox; each frame once.
TEST_P(PciMutation, EveryCommandToTheSecurityProcessorIsMissed) {
  const u64 at = address(Reg::Mp0SmnC2pmsg67);
  const usize frames = GetParam().chip == hw::BareChip::Gc11 ? 15 : 16;
  for (usize left_out = 0; left_out < frames; ++left_out) {
    if (!tries(left_out, 8)) continue;
    usize count = 0;
    // Its time-out would take ten seconds of the machine's.
    EXPECT_NE(outcome([&](u64 word, u32&) { return word != at || count++ != left_out; }), "")
        << left_out;
  }
}

}  // namespace
}  // namespace doorbell::amd
