// Gpu: runs the channels of one GPU: reads their rings and pushbuffers, executes the methods of the
// host engine, of copies and of compute, and launches grids (compute/qmd_grid.h). RM (rm/) makes
// channels; machine.h says when the GPU moves.
//
// Thread safety: none, the machine's mutex guards it.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "drivers/nv/hw/copy/methods.h"
#include "emulator/core/checks.h"
#include "emulator/core/trace.h"
#include "emulator/nv/compute/qmd_grid.h"
#include "emulator/nv/host/channel.h"
#include "emulator/nv/host/fetch_hook.h"
#include "emulator/nv/model.h"

namespace doorbell::emu::nvgpu {

// Errors of channels. [nverror.h ROBUST_CHANNEL_*]
enum class ChannelError : u32 {
  GraphicsException = 13,
  MmuFault = 31,
  Pbdma = 32,
  Copy = 39,
  ClassError = 69,
};

class Gpu {
 public:
  struct Options {
    const Model* model;  // all borrowed
    Checks* checks;
    Trace* trace;
    FetchHook* hook = nullptr;
    u32 index = 0;
    bool adversarial = false;  // grids and copies run as late as the methods allow
    bool polled = false;       // doorbells are words in memory, of which some may be missed
    u64 seed = 0, hang_after = 0;
    Counts* counts = nullptr;     // null: nothing is counted
    AgentRaces* races = nullptr;  // of the machine; null: not judged
    std::function<u64()> now_ns;
    std::function<void()> interrupt;  // NON_STALL_INTERRUPT
  };
  static Result<std::unique_ptr<Gpu>> create(Options options);

  const Model& model() const { return *options_.model; }
  u32 index() const { return options_.index; }

  // Gives it a number and a token.
  void add_channel(const std::shared_ptr<Channel>& channel);
  void remove_channel(const Channel& channel);

  // The page of the doorbell.
  static constexpr u32 kNotRung = ~u32{0};
  const std::shared_ptr<Memory>& usermode() const { return usermode_; }
  void ring(u32 token);
  // Polled: looks whether the doorbell was rung.
  void poll_doorbell();

  // One packet of one channel, or a grid. False: nothing can go on.
  bool step();
  // What the channels wait for: "channel 1 until [0x...] >= 5, it is 4"; empty: nothing.
  std::string waits() const;
  // Why channels stopped last; empty: they did not.
  const std::string& last_fault() const { return last_fault_; }

 private:
  explicit Gpu(Options options)
      : options_(std::move(options)), random_(options_.seed), data_caches_(options_.seed) {}

  bool step(Channel& channel);
  // Shows the words to the hook, which may change them.
  FetchHook::Verdict show(const Fetched& what, std::span<u32> words);
  void read_put(Channel& channel, bool is_rung);

  // ---- fetch.cc
  void fetch_entry(Channel& channel);
  void read_header(Channel& channel);
  void run_data(Channel& channel);
  void run_method(Channel& channel, u32 subchannel, u32 method, u32 value);
  void perform(Channel& channel, u32 subchannel, u32 method, u32 value);

  // ---- host_methods.cc
  void run_host_method(Channel& channel, u32 subchannel, u32 method, u32 value);
  void bind(Channel& channel, u32 subchannel, u32 value);
  void run_semaphore(Channel& channel);
  void release(Channel& channel, const hw::Semaphore& semaphore);
  bool is_acquired(Channel& channel);
  // Whether a wait ends by this value.
  static bool passes(const hw::Semaphore& semaphore, u64 memory);

  // ---- copy_methods.cc
  void launch_copy(Channel& channel, std::span<const u32> methods, u32 value);
  // Runs the oldest copy that waits.
  void run_copy(Channel& channel);
  void run_copy(Channel& channel, Channel::Copy& copy);
  // The semaphore of a LAUNCH_DMA; false: the channel has stopped.
  bool release_copy(Channel& channel, const Channel::Copy& copy, const hw::CopyLaunch& launch);
  bool copy_lines(Channel& channel, const Channel::Copy& copy);
  bool copy_elements(Channel& channel, const Channel::Copy& copy);
  bool copy_bytes(Channel& channel, RaceTask* task, u64 to, u64 from, u64 bytes);

  // ---- compute_methods.cc
  void run_compute(Channel& channel, std::span<const u32> methods, u32 method, u32 value);
  void launch_inline(Channel& channel, std::span<const u32> methods, u32 value);
  void load_inline(Channel& channel, std::span<const u32> methods, u32 value);
  void launch(Channel& channel, u64 qmd);
  // Runs a grid whose descriptor was read.
  void run_descriptor(Channel& channel, const Channel::Grid& launched, std::span<const u32> words);
  // Runs all that waits, or all grids that do, or the oldest one.
  void drain(Channel& channel);
  void drain_grids(Channel& channel);
  void drain_copies(Channel& channel);
  void run_grid(Channel& channel);
  // Shows a constant buffer to the hook, which may change it.
  void show_bank(const Channel& channel, u32 number, std::vector<u8>* bytes);
  // A grid or a copy that waits, of which there is one.
  void run_late(Channel& channel);
  bool release_grid(Channel& channel, const hw::Qmd& qmd, RaceTask* task, u32 number);
  void stop_for(Channel& channel, const Fault& fault);

  // ---- races.cc
  std::string race_place(const Channel& channel, std::string_view what) const;
  // Of a channel whose races are judged.
  void begin_race_packet(Channel& channel);
  // The task accesses these bytes; false: the channel has stopped. Null: it is not judged.
  bool judge(Channel& channel, RaceTask* task, u64 address, const u8* host, u64 bytes,
             AgentAccess access);
  // It is about to write a semaphore's value: 4 or 8 bytes.
  bool hand_over(Channel& channel, RaceTask* task, u64 address, const u8* host, u64 value,
                 u64 bytes);
  void note_acquired(Channel& channel, const u8* host);

  // ---- faults
  // The bytes at an address of the channel; null where it faults, which stops the channel.
  u8* at(Channel& channel, u64 address, u64 bytes, bool write, std::string_view what,
         const Check& check = kFaultOfHost);
  // Stops the channel and its group.
  void stop(Channel& channel, ChannelError error, const Check& check, const std::string& message);
  void stop_reported(Channel& channel, ChannelError error, const std::string& message);
  // Reports a broken rule; true: the channel has stopped for it.
  bool breaks(Channel& channel, ChannelError error, const Check& check, const std::string& message);
  std::string name(const Channel& channel) const;
  void write_trace(const Channel& channel, std::string_view kind, std::string_view text);
  static const Check& kFaultOfHost;

  const Options options_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::shared_ptr<Memory> usermode_;
  u32 next_id_ = 1;
  usize turn_ = 0;
  std::string last_fault_;
  GridCaches caches_;
  DataCaches data_caches_;
};

}  // namespace doorbell::emu::nvgpu
