// Mutants of what a driver submits: each bit of each doorbell, entry of a ring, header of methods,
// method, descriptor and word of constants turned over, wherever the same comes; each of them left
// out, taken twice, in the wrong order, or for another engine. Made from a recorded run, of what it
// has.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "drivers/nv/hw/qmd/qmd.h"
#include "emulator/nv/host/fetch_hook.h"

namespace doorbell::testing {

// What is the same for a mutant.
struct FetchRole {
  using Kind = emu::nvgpu::Fetched::Kind;
  Kind kind;
  u32 channel;
  u32 class_id, method;  // of headers and data
  auto operator<=>(const FetchRole&) const = default;
};

struct FetchMutant {
  enum class Change : u8 { Bit, Drop, Twice, Swap, Engine };
  FetchRole role;
  Change change = Change::Bit;
  u32 bit = 0;       // of the words
  std::string name;  // "DMA_COPY LAUNCH_DMA: flush_enable bit 0", "QMD: REGISTER_COUNT bit 3"
};

// "bit", "drop", "twice", "swap", "engine".
std::string name_of(FetchMutant::Change change);

class FetchRecording final : public emu::nvgpu::FetchHook {
 public:
  explicit FetchRecording(nv::hw::QmdVersion version) : version_(version) {}
  Verdict fetched(const emu::nvgpu::Fetched& what, std::span<u32> words) override;
  const std::vector<FetchMutant>& mutants() const { return mutants_; }

 private:
  void add(const FetchRole& role, std::span<const u32> words);
  void add_others(const FetchRole& role, const std::string& name);

  const nv::hw::QmdVersion version_;
  std::map<FetchRole, bool> seen_;
  std::map<FetchRole, bool> swapped_;  // entries that were not the last
  std::vector<FetchMutant> mutants_;
};

class FetchMutation final : public emu::nvgpu::FetchHook {
 public:
  explicit FetchMutation(const FetchMutant& mutant) : mutant_(mutant) {}
  Verdict fetched(const emu::nvgpu::Fetched& what, std::span<u32> words) override;
  bool happened() const { return happened_; }

 private:
  const FetchMutant& mutant_;
  bool happened_ = false;
  bool repeats_ = false;  // what comes now is what was taken before
};

}  // namespace doorbell::testing
