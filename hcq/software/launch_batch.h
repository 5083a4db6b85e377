// Launches that follow each other in resident commands, for devices that run them at once faster
// than one by one (LaunchDevice::make_batch). LaunchReplay keeps what became of resident commands:
// batches, and the other commands between them.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/device/program.h"
#include "hcq/queue/queue.h"
#include "hcq/software/executor.h"

namespace doorbell::hcq {

class LaunchBatch {
 public:
  struct Launch {
    core::Program* program;
    std::span<const core::BufferView> buffers;
    std::span<const i64> variables;
  };

  virtual ~LaunchBatch() = default;
  // One after another, behind what was launched before. The programs are those of the first call,
  // the arguments may be others. False: not now, and nothing was launched.
  virtual Result<bool> launch(std::span<const Launch> launches) = 0;
};

// Launches of fewer are made one by one.
inline constexpr usize kLeastBatch = 4;

struct LaunchReplay final : ResidentWords::Compiled {
  struct Part {
    const u64 *begin, *end;
    usize launches = 0;  // 0: other commands
    std::unique_ptr<LaunchBatch> batch = nullptr;
    // Of the run that is being made.
    std::vector<LaunchBatch::Launch> list{};
    std::vector<core::BufferView> views{};
    std::vector<i64> values{};

    // As the commands are now.
    void read();
  };
  std::vector<Part> parts;  // none before the second run

  void cut(const u64* begin, const u64* end);
};

}  // namespace doorbell::hcq
