// Memory of the process on its GPUs: allocation, mapping to each GPU, and the errors of
// drivers/gpu/drm/amd/amdgpu/amdgpu_amdkfd_gpuvm.c. See ioctls.cc for the ioctls.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/amd/kfd/device.h"
#include "emulator/core/checks.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/core/undefined_memory.h"

namespace doorbell::emu::amdgpu {

struct AllocateRequest {
  u32 gpu = 0;  // index
  u64 va = 0, bytes = 0;
  u32 flags = 0;    // kKfdMem*
  u64 user_va = 0;  // of a userptr
  u64 ioctl = 0;    // its number, for the history
};

struct Buffer {
  u32 gpu = 0;  // whose handle it is
  u32 number = 0;
  u64 va = 0, bytes = 0;  // whole pages
  u32 flags = 0;
  u8* host = nullptr;
  u64 offset = 0;                    // in the GPU's memory, for mmap; else the client's address
  std::vector<const Range*> mapped;  // per GPU, or null
  std::vector<u32> history;          // per GPU: its number in that GPU's history, or kNone
  u32 queues = 0;                    // number of queues that use it
  u32 origin_gpu = 0;                // whose memory it is: another's when imported
  bool holds_events = false;         // the page of event slots
  u64 allocated_at = 0;              // the ioctl's number
  static constexpr u32 kNone = ~u32{0};
};

// Thread safety: from any thread. Functions that return int give 0 or an errno.
class Buffers {
 public:
  // `devices` is borrowed, and of a fixed size.
  // `undefined` may be null: undefined values are not tracked; and `races`: they are not judged.
  Buffers(std::span<const std::unique_ptr<Device>> devices, Checks& checks,
          UndefinedMemory* undefined = nullptr, AgentRaces* races = nullptr)
      : devices_(devices), checks_(checks), undefined_(undefined), races_(races) {}
  ~Buffers();

  int allocate(const AllocateRequest& request, u64& handle, u64& mmap_offset);
  int free(u64 handle, u64 ioctl);
  int map(u64 handle, u32 gpu, u64 ioctl);
  int unmap(u64 handle, u32 gpu, u64 ioctl);
  // The process returns this memory to the system: its userptrs stay mapped, but accesses fault.
  void host_unmapped(u64 start, u64 end);
  // Null if there is none.
  bool exists(u64 handle) const;
  // The host memory of a GTT buffer for the page of event slots; and marks it as that page, which
  // the driver keeps until the process ends.
  int event_page(u64 handle, u8*& host, u64& bytes);
  void keep_for_events(u64 handle);

  // A queue uses the buffer that is mapped at `va`: it must begin there (in its first page) and,
  // unless `bytes` is 0, have that size in pages. [kfd_queue_buffer_get()]
  int acquire_for_queue(u32 gpu, u64 va, u64 bytes, const char* what, std::string& why);
  void release_from_queue(u32 gpu, u64 va);

  // Exports a descriptor for the buffer's memory, which keeps the memory, even without the buffer,
  // until its last copy is closed; and imports one.
  int export_descriptor(u64 handle, u32 flags, int& descriptor);
  int import_descriptor(int descriptor, u32 gpu, u64 va, u64 ioctl, u64& handle);
  int descriptor_info(int descriptor, u32& gpu, u64& bytes, u32& flags);

  u64 available(u32 gpu);
  // Handles that the client did not free, but could have.
  usize count() const;
  // Their descriptions: "GTT buffer [0x10000, 0x11000) of GPU 0, allocated by ioctl 5".
  std::vector<std::string> left() const;
  // Whether a buffer of at least this many bytes begins at this offset of its device's memory, for
  // mmap of a render node. [drm_vma_offset_exact_lookup_locked()]
  bool mappable(u32 gpu, u64 offset, u64 bytes) const;

  static u64 make_handle(u32 gpu_id, u32 number) { return u64{gpu_id} << 32 | number; }

 private:
  using Lock = std::lock_guard<std::mutex>;

  Buffer* find(u64 handle) const;
  int refuse(const Check& check, int why, std::string message) const;
  int no_memory(const AllocateRequest& request, u64 left) const;
  int place(const AllocateRequest& request, Buffer& buffer);
  u64 insert(std::unique_ptr<Buffer> buffer, u64 ioctl);
  MemoryType type_for(const Buffer& buffer, const Device& device) const;
  void give_back(Buffer& buffer);
  // Drops a reference of a buffer or an export to this memory; the last one frees it.
  void drop_share(u32 gpu, u64 offset, u64 bytes, u32 flags);

  std::span<const std::unique_ptr<Device>> devices_;
  Checks& checks_;
  UndefinedMemory* undefined_;
  AgentRaces* races_;
  mutable std::mutex mutex_;                        // guards the members below
  std::map<u64, std::unique_ptr<Buffer>> buffers_;  // by handle
  std::atomic<u32> userptrs_{0};                    // number of userptrs; read without the lock
  struct Numbers {
    u32 next = 0;
    std::set<u32> free;
  };
  std::map<u32, Numbers> numbers_;  // of handles, by GPU
  struct Exported {
    int guard = -1;  // the emulator's end of the pipe whose other end the client has
    u32 gpu = 0;
    u64 offset = 0, bytes = 0;
    u32 flags = 0;
  };
  using FileId = std::pair<u64, u64>;  // device and inode
  static FileId file_id(int descriptor);
  int no_dma_buf(int descriptor) const;
  // Drops exports without open descriptors.
  void forget_closed();
  std::map<FileId, Exported> exported_;
  std::map<std::pair<u32, u64>, u32> shares_;  // of memory at (GPU, offset) by buffers and exports
};

}  // namespace doorbell::emu::amdgpu
