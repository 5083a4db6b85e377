// AddressMap: what lies at which address of a device, for reports of hangs and faults. It knows
// what is mapped, and the last few of what is gone.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/util/types.h"

namespace doorbell::hcq {

class AddressMap {
 public:
  // `host`: where the host sees it, or null.
  void note_mapped(u64 va, u64 bytes, std::string what, const u8* host);
  void note_unmapped(u64 va);
  // "in 'weights' (0x2000000000, 4096 bytes)", "in freed ...", "4 bytes behind ..."
  std::string describe(u64 va) const;
  // The words at an address, where the host sees all of them.
  std::optional<std::vector<u32>> peek(u64 va, u32 words) const;

 private:
  struct Span {
    u64 bytes;
    std::string what;
    const u8* host = nullptr;
  };

  mutable std::mutex mutex_;                    // guards what follows
  std::map<u64, Span> mapped_;                  // by address
  std::vector<std::pair<u64, Span>> unmapped_;  // the last few; a ring
  usize next_unmapped_ = 0;
};

}  // namespace doorbell::hcq
