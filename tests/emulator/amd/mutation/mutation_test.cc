// The mutation suite: the driver's packets, dropped or changed wherever a line of the driver emits
// them, before the command processor reads them. Every mutant is caught (by wrong data, a broken
// rule, a fault or a hang), or stands in the second list with the reason why it cannot be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/opcode.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/sdma/opcode.h"
#include "tests/emulator/amd/mutation/scenario.h"

namespace doorbell::testing {
namespace {

using emulator::amd::PacketHook;
using emulator::amd::QueueId;
using emulator::amd::QueueKind;
namespace hw = ::doorbell::amd::hw;

TEST(Mutation, TheDriverItselfBreaksNoRule) {
  for (const char* gpu : {"gfx1030", "gfx1100", "gfx1201", "gfx942"})
    for (bool aql : {false, true})
      for (bool adversarial : {false, true}) {
        ScenarioResult result = run_scenario({.gpu = gpu, .aql = aql, .adversarial = adversarial});
        EXPECT_TRUE(result.right) << gpu << (aql ? " AQL" : " PM4") << adversarial;
        EXPECT_EQ(result.error, "") << gpu << (aql ? " AQL" : " PM4") << adversarial;
        for (const std::string& fault : result.faults) ADD_FAILURE() << gpu << ": " << fault;
        for (const std::string& report : result.reports) ADD_FAILURE() << gpu << ": " << report;
      }
}

// What is done to each packet; false drops it.
using Change = std::function<bool(QueueKind kind, std::vector<u32>& words)>;

struct Mutant {
  const char* what;
  const char* gpu;
  bool aql;
  Change change;
  std::function<bool(u64& doorbell)> ring;  // false loses the store
  const char* why_not = nullptr;            // the reason why nobody can see it
};

class Mutator final : public PacketHook {
 public:
  explicit Mutator(const Mutant& mutant) : mutant_(mutant) {}
  bool packet(QueueId, QueueKind kind, unsigned, std::vector<u32>& words) override {
    std::vector<u32> before = words;
    bool runs = !mutant_.change || mutant_.change(kind, words);
    touched_ |= !runs || words != before;
    return runs;
  }
  bool doorbell(QueueId, u64& value) override {
    u64 before = value;
    bool runs = !mutant_.ring || mutant_.ring(value);
    touched_ |= !runs || value != before;
    return runs;
  }
  bool touched() const { return touched_; }

 private:
  const Mutant& mutant_;
  bool touched_ = false;
};

bool is_pm4(QueueKind kind, const std::vector<u32>& words, hw::Opcode opcode) {
  std::array<u32, 1> header{words[0]};
  return kind == QueueKind::Pm4 && extract(header, hw::kPacketOpcode) == static_cast<u64>(opcode);
}

bool is_sdma(QueueKind kind, const std::vector<u32>& words, hw::SdmaOp op) {
  std::array<u32, 1> header{words[0]};
  return kind == QueueKind::Sdma && extract(header, hw::kSdmaOp) == static_cast<u64>(op);
}

Change drop(hw::Opcode opcode) {
  return [=](QueueKind kind, std::vector<u32>& words) { return !is_pm4(kind, words, opcode); };
}

Change drop(hw::SdmaOp op) {
  return [=](QueueKind kind, std::vector<u32>& words) { return !is_sdma(kind, words, op); };
}

Change drop_register(const hw::Register& which) {
  u32 offset = which.at(hw::Generation::Gfx11) - hw::kShRegStart;
  return [=](QueueKind kind, std::vector<u32>& words) {
    return !is_pm4(kind, words, hw::Opcode::SetShReg) || words[1] != offset;
  };
}

struct Clear {
  hw::Opcode opcode;
  u32 word, bits;
};
// These bits, wherever they are.
Change clear(std::vector<Clear> clears) {
  return [=](QueueKind kind, std::vector<u32>& words) {
    for (const Clear& one : clears)
      if (is_pm4(kind, words, one.opcode)) words[one.word] &= ~one.bits;
    return true;
  };
}

Change change_sdma(hw::SdmaOp op, u32 word, u32 flip) {
  return [=](QueueKind kind, std::vector<u32>& words) {
    if (is_sdma(kind, words, op)) words[word] ^= flip;
    return true;
  };
}

// Signals, by their DATA_SEL of 64 bits.
bool is_signal(QueueKind kind, const std::vector<u32>& words) {
  return is_pm4(kind, words, hw::Opcode::ReleaseMem) && words[2] >> 29 == 2;
}

constexpr hw::Opcode kAcquire = hw::Opcode::AcquireMem, kRelease = hw::Opcode::ReleaseMem;
// GCR_CNTL of ACQUIRE_MEM, and the same of RELEASE_MEM. [nvd.h]
constexpr u32 kGliInv = 3, kGlkInv = 1 << 7, kGlvInv = 1 << 8, kGl1Inv = 1 << 9, kGl2Inv = 1 << 14,
              kGl2Wb = 1 << 15;
constexpr u32 kReleaseGlv = 1 << 14, kReleaseGl1 = 1 << 15, kReleaseGl2Inv = 1 << 20,
              kReleaseGl2Wb = 1 << 21;
constexpr const char* kRdna3 = "gfx1100";
constexpr const char* kRdna4 = "gfx1201";
constexpr const char* kCdna3 = "gfx942";

std::vector<Mutant> mutants() {
  return {
      {"no waves waited for", kRdna3, false, drop(hw::Opcode::EventWrite)},
      {"no cache acquired", kRdna3, false, drop(kAcquire)},
      {"instruction cache kept", kRdna3, false, clear({{kAcquire, 7, kGliInv}})},
      {"vector cache kept", kRdna3, false,
       clear({{kAcquire, 7, kGlvInv}, {kRelease, 1, kReleaseGlv}})},
      {"GL1 kept", kRdna3, false, clear({{kAcquire, 7, kGl1Inv}, {kRelease, 1, kReleaseGl1}})},
      {"L2 never invalidated", kRdna4, false,
       clear({{kAcquire, 7, kGl2Inv}, {kRelease, 1, kReleaseGl2Inv}})},
      {"L2 never written back", kRdna4, false,
       clear({{kAcquire, 7, kGl2Wb}, {kRelease, 1, kReleaseGl2Wb}})},
      {"signal lost", kRdna3, false,
       [](QueueKind kind, std::vector<u32>& words) { return !is_signal(kind, words); }},
      {"signal too early", kRdna3, false,
       [](QueueKind kind, std::vector<u32>& words) {
         if (is_signal(kind, words)) words[5] += 1;
         return true;
       }},
      {"signal elsewhere", kRdna3, false,
       [](QueueKind kind, std::vector<u32>& words) {
         if (is_signal(kind, words)) words[3] += 8;
         return true;
       }},
      {"launch lost", kRdna3, false, drop(hw::Opcode::DispatchDirect)},
      {"launch of other waves", kRdna3, false, clear({{hw::Opcode::DispatchDirect, 4, 1 << 15}})},
      {"no program", kRdna3, false, drop_register(hw::kComputePgmLo)},
      {"no resources", kRdna3, false, drop_register(hw::kComputePgmRsrc1)},
      {"no arguments", kRdna3, false, drop_register(hw::kComputeUserData0)},
      {"no group size", kRdna3, false, drop_register(hw::kComputeNumThreadX)},
      {"copy lost", kRdna3, false, drop(hw::SdmaOp::Copy)},
      {"copy too short", kRdna3, false, change_sdma(hw::SdmaOp::Copy, 1, 0x100)},
      {"copy from elsewhere", kRdna3, false, change_sdma(hw::SdmaOp::Copy, 3, 0x40)},
      {"fence lost", kRdna3, false, drop(hw::SdmaOp::Fence)},
      {"copy does not wait", kRdna3, false, drop(hw::SdmaOp::PollRegmem)},
      {"copy waits for another value", kRdna3, false,
       change_sdma(hw::SdmaOp::PollRegmem, 3, 0x10000)},
      {"doorbell lost", kRdna3, false, nullptr, [](u64&) { return false; }},
      {"doorbell too far", kRdna3, false, nullptr, [](u64& value) { return ++value, true; }},
      {"doorbell too short", kRdna3, false, nullptr, [](u64& value) { return --value, true; }},
      {"AQL doorbell too far", kRdna3, true, nullptr, [](u64& value) { return ++value, true; }},
      {"AQL without any barrier", kCdna3, true,
       [](QueueKind kind, std::vector<u32>& words) {
         if (kind == QueueKind::Aql) words[0] &= ~u32{1 << 8};
         return !is_pm4(kind, words, hw::Opcode::EventWrite);
       }},
      {"AQL without its fences", kCdna3, true,
       [](QueueKind kind, std::vector<u32>& words) {
         if (kind == QueueKind::Aql) words[0] &= ~u32{0xf << 9};
         if (is_pm4(kind, words, kAcquire)) return false;
         return true;
       }},
  };
}

// What nobody can see, and why.
std::vector<Mutant> unseen_mutants() {
  return {
      {"vector cache kept by ACQUIRE_MEM only", kRdna3, false, clear({{kAcquire, 7, kGlvInv}}),
       nullptr, "the RELEASE_MEM of each signal invalidates it too"},
      {"L2 never invalidated, where SDMA writes through it", kRdna3, false,
       clear({{kAcquire, 7, kGl2Inv}, {kRelease, 1, kReleaseGl2Inv}}), nullptr,
       "gfx11's SDMA takes the L2's lines along, and all data comes by SDMA here"},
      {"scalar cache kept", kRdna3, false, clear({{kAcquire, 7, kGlkInv}}), nullptr,
       "only arguments are loaded through it, and their ring does not come round here: "
       "caches_test"},
      {"AQL without its barrier bits", kCdna3, true,
       [](QueueKind kind, std::vector<u32>& words) {
         if (kind == QueueKind::Aql) words[0] &= ~u32{1 << 8};
         return true;
       },
       nullptr, "the PM4 between two kernels waits for the waves too"},
      {"no scratch ring", kRdna3, false, drop_register(hw::kComputeTmpringSize), nullptr,
       "a queue's registers start as zeros, and the kernels have no private memory"},
      {"no restart point", kRdna3, false, drop_register(hw::kComputeRestartX), nullptr,
       "a queue's registers start as zeros"},
      {"no trap", kRdna3, false, drop(hw::SdmaOp::Trap), nullptr,
       "in lockstep the host polls the signal, and never sleeps for the interrupt"},
  };
}

bool is_caught(const ScenarioResult& result) {
  return !result.right || !result.error.empty() || !result.faults.empty() ||
         !result.reports.empty();
}

TEST(Mutation, EveryMutantIsCaughtOrExplained) {
  std::vector<Mutant> all = mutants();
  for (Mutant& unseen : unseen_mutants()) all.push_back(std::move(unseen));
  for (const Mutant& mutant : all) {
    bool caught = false, touched = false;
    for (u64 seed = 1; seed <= 6 && !caught; ++seed) {
      Mutator hook(mutant);
      caught = is_caught(
          run_scenario({.gpu = mutant.gpu, .aql = mutant.aql, .seed = seed, .hook = &hook}));
      touched |= hook.touched();
    }
    EXPECT_TRUE(touched) << mutant.what << ": the driver emits nothing of the kind";
    if (mutant.why_not)
      EXPECT_FALSE(caught) << mutant.what << " is caught, although " << mutant.why_not;
    else
      EXPECT_TRUE(caught) << mutant.what;
  }
}

}  // namespace
}  // namespace doorbell::testing
