// The differences.
#include "tests/tools/amd_probe/seeded.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "base/os/forwarded_files.h"
#include "base/util/try.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/ioctl.h"
#include "drivers/amd/hw/kfd.h"
#include "drivers/amd/hw/saved_waves.h"
#include "drivers/amd/hw/topology.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;
using emu::amdgpu::QueueKind;

u32 opcode_of_pm4(const std::vector<u32>& words) { return words[0] >> 8 & 0xff; }
u32 opcode_of_sdma(const std::vector<u32>& words) { return words[0] & 0xff; }

constexpr u32 kReleaseMem = 0x49, kCopy = 1, kFence = 5;

// A file whose text is another one's.
class TextFile final : public os::File {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    const usize from = std::min<usize>(offset, text_.size()),
                bytes = std::min(into.size(), text_.size() - from);
    std::memcpy(into.data(), text_.data() + from, bytes);
    return bytes;
  }
  Result<void> write_at(u64, std::span<const u8>) override { return refuse(); }
  Result<u64> size() override { return text_.size(); }
  Result<os::Mapping> map(const os::MapRequest&) override { return refuse(); }
  Result<os::MappedRegisters> map_registers(const os::MapRequest&) override { return refuse(); }
  Result<int> ioctl(unsigned long, void*) override { return refuse(); }
  Result<bool> wait_ready(u64) override { return refuse(); }
  int descriptor() const override { return -1; }

 private:
  static Error refuse() { return fail(ErrorKind::Unsupported, "a text of the test"); }
  std::string text_;
};

class ChangedTopology final : public os::ForwardedFiles {
 public:
  ChangedTopology(std::unique_ptr<os::Files> files, Seeded& seeded)
      : ForwardedFiles(*files), files_(std::move(files)), seeded_(seeded) {}
  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override {
    if (!path.starts_with(hw::kTopologyNodes) || !path.ends_with("/properties"))
      return ForwardedFiles::open(path, access);
    TRY(const std::string text, os::read_text(*files_, path));
    return std::unique_ptr<os::File>(std::make_unique<TextFile>(seeded_.change_text(text)));
  }

 private:
  std::unique_ptr<os::Files> files_;
  Seeded& seeded_;
};

class ChangedClock final : public os::Clock {
 public:
  ChangedClock(std::unique_ptr<os::Clock> clock, Seeded& seeded)
      : clock_(std::move(clock)), seeded_(seeded), start_ns_(clock_->now_ns()) {}
  u64 now_ns() override { return start_ns_ + seeded_.host_ns(clock_->now_ns() - start_ns_); }
  void sleep_until(u64 time_ns) override {
    for (u32 turn = 0; now_ns() < time_ns; ++turn) clock_->relax(turn);
  }
  void relax(u32 turn) override { clock_->relax(turn); }

 private:
  std::unique_ptr<os::Clock> clock_;
  Seeded& seeded_;
  const u64 start_ns_;
};

}  // namespace

void Seeded::scale_property(std::string name, u64 times) {
  property_ = std::move(name);
  property_times_ = times;
}

void Seeded::scale_clock(u64 times, u64 by) {
  change_answer_ = [=](unsigned long request, void* argument) {
    if (request != hw::kRequest<hw::KfdGetClockCounters>) return false;
    auto& counters = *static_cast<hw::KfdGetClockCounters*>(argument);
    counters.gpu_clock_counter = counters.gpu_clock_counter * times / by;
    return true;
  };
}

void Seeded::narrow_releases() {
  change_packet_ = [this](QueueKind kind, std::vector<u32>& words) {
    constexpr u32 kDataSel = 29, kData64 = 2, kLow32 = 1;
    if (kind == QueueKind::Pm4 && opcode_of_pm4(words) == kReleaseMem &&
        words[2] >> kDataSel == kData64) {
      words[2] = (words[2] & ((1u << kDataSel) - 1)) | kLow32 << kDataSel;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::drop_pm4(u32 opcode) {
  change_packet_ = [=, this](QueueKind kind, std::vector<u32>& words) {
    if (kind != QueueKind::Pm4 || opcode_of_pm4(words) != opcode) return true;
    happened_ = true;
    return false;
  };
}

void Seeded::drop_sdma(u32 opcode) {
  change_packet_ = [=, this](QueueKind kind, std::vector<u32>& words) {
    if (kind != QueueKind::Sdma || opcode_of_sdma(words) != opcode) return true;
    happened_ = true;
    return false;
  };
}

void Seeded::drop_aql_dependencies() {
  change_packet_ = [this](QueueKind kind, std::vector<u32>& words) {
    constexpr u32 kBarrierAnd = 3;
    if (kind == QueueKind::Aql && words.size() == 16 && (words[0] & 0xff) == kBarrierAnd) {
      words[2] = words[3] = 0;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::change_fences(u32 by) {
  change_packet_ = [=, this](QueueKind kind, std::vector<u32>& words) {
    if (kind == QueueKind::Sdma && opcode_of_sdma(words) == kFence) {
      words[3] ^= by;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::shorten_copies(u32 by, u32 at_least) {
  change_packet_ = [=, this](QueueKind kind, std::vector<u32>& words) {
    if (kind == QueueKind::Sdma && opcode_of_sdma(words) == kCopy && words[1] >= at_least) {
      words[1] -= by;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::cut_copies(u32 bits) {
  change_packet_ = [=, this](QueueKind kind, std::vector<u32>& words) {
    const u32 mask = (1u << bits) - 1;
    if (kind == QueueKind::Sdma && opcode_of_sdma(words) == kCopy && (words[1] & ~mask) != 0) {
      words[1] &= mask;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::count_groups_as_items() {
  change_packet_ = [this](QueueKind kind, std::vector<u32>& words) {
    constexpr u32 kDispatchDirect = 0x15, kThreads = 1u << 5, kKernelDispatch = 2;
    if (kind == QueueKind::Pm4 && opcode_of_pm4(words) == kDispatchDirect) {
      words[4] |= kThreads;
      happened_ = true;
    }
    if (kind == QueueKind::Aql && words.size() == 16 && (words[0] & 0xff) == kKernelDispatch) {
      words[3] /= words[1] & 0xffff;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::halve_local_memory() {
  change_packet_ = [this](QueueKind kind, std::vector<u32>& words) {
    constexpr u32 kKernelDispatch = 2;
    if (kind == QueueKind::Aql && words.size() == 16 && (words[0] & 0xff) == kKernelDispatch &&
        words[7] != 0) {
      words[7] /= 2;
      happened_ = true;
    }
    return true;
  };
}

void Seeded::share_scratch() {
  change_memory_ = [this](unsigned long request) {
    if (request == hw::kRequest<hw::KfdUpdateQueue>) shrink_scratch_share();
  };
}

void Seeded::shrink_scratch_share() {
  constexpr u64 kOfAWave = 128 * 64;
  if (queue_va_ == 0) return;
  auto& queue = *reinterpret_cast<hw::AmdQueue*>(hosts_.at(offsets_.at(queue_va_)));
  if (queue.scratch_backing_memory_byte_size == 0) return;
  queue.scratch_backing_memory_byte_size = kOfAWave;
  happened_ = true;
}

void Seeded::move_fault_address(i64 bytes) {
  change_answer_ = [=](unsigned long request, void* argument) {
    if (request != hw::kRequest<hw::KfdWaitEvents>) return false;
    const auto& wait = *static_cast<const hw::KfdWaitEvents*>(argument);
    auto* events = reinterpret_cast<hw::KfdEventData*>(wait.events_ptr);
    // The driver waits for its memory event first, among others.
    if (wait.num_events < 2 || events[0].memory_exception.gpu_id == 0) return false;
    events[0].memory_exception.va += static_cast<u64>(bytes);
    return true;
  };
}

void Seeded::move_saved_pc(i64 bytes) {
  change_answer_ = [=, this](unsigned long request, void* argument) {
    if (request == hw::kRequest<hw::KfdGetQueueWaveState>) change_saved_waves(argument, bytes);
    return false;
  };
}

// Of gfx11, with one XCC: the PC is behind the scalar registers and M0.
void Seeded::change_saved_waves(const void* argument, i64 bytes) {
  const auto& state = *static_cast<const hw::KfdGetQueueWaveState*>(argument);
  const std::span<const u8> area(reinterpret_cast<const u8*>(state.ctl_stack_address),
                                 context_bytes_);
  const auto waves = hw::read_saved_waves(hw::Generation::Gfx11, area);
  if (!waves) return;
  for (const hw::SavedWave& wave : *waves) {
    u8* pc = const_cast<u8*>(wave.scalars.data()) + wave.scalars.size() + sizeof(u32);
    u64 value = 0;
    std::memcpy(&value, pc, sizeof value);
    value += static_cast<u64>(bytes);
    std::memcpy(pc, &value, sizeof value);
    happened_ = true;
  }
}

void Seeded::note(unsigned long request, const void* argument) {
  if (request == hw::kRequest<hw::KfdAllocMemory>) {
    const auto& made = *static_cast<const hw::KfdAllocMemory*>(argument);
    offsets_[made.va_addr] = made.mmap_offset;
  }
  if (request == hw::kRequest<hw::KfdCreateQueue>) {
    const auto& made = *static_cast<const hw::KfdCreateQueue*>(argument);
    if (made.queue_type == hw::kKfdQueueComputeAql)
      queue_va_ = made.write_pointer_address - offsetof(hw::AmdQueue, write_dispatch_id);
    if (made.ctx_save_restore_size != 0) context_bytes_ = made.ctx_save_restore_size;
  }
}

Seeded::Verdict Seeded::packet(emu::amdgpu::QueueId, QueueKind kind, unsigned,
                               std::vector<u32>& words) {
  const bool is_taken = change_packet_ == nullptr || change_packet_(kind, words);
  return is_taken ? Verdict::Take : Verdict::Skip;
}

Result<int> Seeded::ioctl(os::File& file, unsigned long request, void* argument) {
  if (change_memory_ != nullptr) change_memory_(request);
  Result<int> answer = file.ioctl(request, argument);
  if (answer) note(request, argument);
  if (answer && change_answer_ != nullptr && change_answer_(request, argument)) happened_ = true;
  return answer;
}

std::string Seeded::change_text(std::string text) {
  if (property_.empty()) return text;
  const usize line = text.find(property_ + " ");
  if (line == std::string::npos) return text;
  const usize begin = line + property_.size() + 1, end = text.find('\n', begin);
  const u64 value = std::stoull(text.substr(begin, end - begin));
  if (value == 0) return text;
  happened_ = true;
  return text.replace(begin, end - begin, fmt::format("{}", value * property_times_));
}

u64 Seeded::host_ns(u64 ns) {
  if (host_clock_times_ != 1) happened_ = true;
  return ns * host_clock_times_;
}

std::unique_ptr<os::Files> Seeded::wrap(std::unique_ptr<os::Files> files) {
  return testing::watch_files(std::make_unique<ChangedTopology>(std::move(files), *this), *this);
}

std::unique_ptr<os::Clock> Seeded::wrap(std::unique_ptr<os::Clock> clock) {
  return std::make_unique<ChangedClock>(std::move(clock), *this);
}

}  // namespace doorbell::tools
