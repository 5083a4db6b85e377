// NvRecorder: records inside a client's process how it uses NVIDIA's GPUs: calls of RM and UVM, and
// what it puts into its channels: entries of the ring (GPFIFO), methods, descriptors of grids and
// their constant buffers. For the interception see interpose.cc.
//
// Entries are found by polling GP_PUT, so they appear when they are written, not when they run. Of
// a channel whose USERD the process has not mapped by a call that is known here, entries are those
// that are not empty, and only the first lap of the ring is seen.
//
// With a folder, each submission is kept in a folder of its own there, as files that `doorbell
// decode gpfifo` reads: gpfifo.bin, a file for each part of memory, packets.txt, and `decode`, the
// command.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/nv/hw/rm/abi.h"
#include "drivers/nv/hw/stream/stream.h"
#include "emulator/core/trace.h"
#include "tools/trace/nv_memory.h"

namespace doorbell::tools {

struct NvEscape;  // nv_call.h

// Thread safety: from any thread.
class NvRecorder {
 public:
  // `trace` outlives the recorder. An empty folder: nothing is kept.
  NvRecorder(emu::Trace* trace, std::string folder);

  // To be called after an ioctl, with its errno or 0. True if it was one of NVIDIA's.
  bool ioctl(int descriptor, unsigned long request, const void* argument, int error);
  // To be called after every mmap, and before every munmap.
  void mapped(int descriptor, u64 address, u64 bytes);
  void unmapped(u64 address, u64 bytes);
  // Polls the channels. True while there are any.
  bool poll();

 private:
  struct Channel {
    RmKey key;
    u64 ring = 0;  // GPU address
    u32 entries = 0;
    RmKey userd;
    u64 userd_offset = 0;
    u32 next = 0;  // entry
    nv::hw::StreamReader reader{};
  };
  struct Part {
    u64 address;
    std::vector<std::byte> bytes;
  };

  bool is_uvm(int descriptor, unsigned long request);
  void escape_call(const NvEscape& escape);
  void alloc_call(const NvEscape& escape);
  void map_call(const NvEscape& escape);
  void learn_version(const NvEscape& escape);
  void uvm_call(u32 request, const void* argument);
  void poll(Channel* channel);
  // The entry behind the last one that is valid.
  u32 put_of(const Channel& channel) const;
  std::vector<u32> ring_words(const Channel& channel, u32 first, u32 count) const;
  void submit(Channel* channel, std::span<const u32> words);
  void read_constants(const StreamPacket& qmd, std::vector<Part>* parts) const;
  void keep(const Channel& channel, std::span<const u32> words, const std::vector<Part>& parts,
            const std::string& text);

  emu::Trace* const trace_;
  const std::string folder_;
  std::mutex mutex_;
  nv::hw::DriverAbi abi_;
  NvClientMemory memory_;
  std::vector<Channel> channels_;
  std::vector<int> uvm_files_;
  u32 kept_ = 0;
};

}  // namespace doorbell::tools
