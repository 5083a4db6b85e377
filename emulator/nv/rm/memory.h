// Memory: bytes that GPUs map and that the process may map too. RM's objects and the page tables
// share it, so that memory lives as long as something maps it.
#pragma once

#include <memory>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {
class AgentRaces;
}

namespace doorbell::emu::nvgpu {

// Thread safety: descriptor() from one thread at a time; the rest is constant.
class Memory {
 public:
  enum class Kind : u8 {
    Video,     // the GPU's own
    System,    // allocated by the kernel
    User,      // the process's own pages
    Usermode,  // the page of the doorbell
  };

  // Zeroed; bytes are rounded up to pages.
  static Result<std::shared_ptr<Memory>> allocate(Kind kind, u32 gpu, u64 bytes, bool read_only);
  static std::shared_ptr<Memory> of_process(u32 gpu, u8* host, u64 bytes);
  // The memory of somebody's descriptor(), of this process or another, as the system's; the
  // descriptor stays the caller's.
  static Result<std::shared_ptr<Memory>> of_descriptor(u32 gpu, int descriptor);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Kind kind() const { return kind_; }
  u32 gpu() const { return gpu_; }
  u64 bytes() const { return bytes_; }
  u8* host() const { return host_; }
  bool read_only() const { return read_only_; }  // for the process

  // When it is freed, these forget it; borrowed, or null.
  void judge_races(AgentRaces* races) { races_ = races; }

  // Fills its first bytes with what no client can rely on; the rest stays zero, untouched.
  void poison();

  // A file whose bytes are the memory's, which stays this object's. Nothing else may write the
  // memory during the first call.
  Result<int> descriptor();

 private:
  Memory(Kind kind, u32 gpu, u8* host, u64 bytes, bool read_only)
      : kind_(kind), gpu_(gpu), host_(host), bytes_(bytes), read_only_(read_only) {}

  const Kind kind_;
  const u32 gpu_;
  u8* const host_;
  const u64 bytes_;
  const bool read_only_;
  int descriptor_ = -1;
  AgentRaces* races_ = nullptr;
};

}  // namespace doorbell::emu::nvgpu
