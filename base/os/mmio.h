// Registers, doorbells and apertures in a device's address space. On mapped memory an access is one
// volatile load or store, inline; a trapped or tunnelled region (an emulator, USB) goes through
// MmioTrap.
//
// Memory ordering: accesses through one Mmio stay in program order among themselves. Nothing is
// promised between them and ordinary memory: a queue written in memory needs fence_writes() before
// the doorbell that announces it.
#pragma once

#include <atomic>

#include "base/util/check_failed.h"
#include "base/util/types.h"

namespace doorbell::os {

// Handles each access of a trapped region. `bytes` is 1, 2, 4 or 8, and the offset a multiple of
// it.
class MmioTrap {
 public:
  virtual ~MmioTrap() = default;
  virtual u64 read(u64 offset, unsigned bytes) = 0;
  virtual void write(u64 offset, unsigned bytes, u64 value) = 0;
};

class Mmio {
 public:
  Mmio() = default;
  // `mapped` is borrowed from the Mapping, which the owner of the region keeps.
  Mmio(volatile u8* mapped, u64 size) : mapped_(mapped), size_(size) {}
  // `trap` is borrowed from the device that handles the region's accesses.
  Mmio(MmioTrap& trap, u64 size) : trap_(&trap), size_(size) {}

  template <class T>
  T read(u64 offset) const {
    check<T>(offset);
    if (mapped_) [[likely]]
      return *reinterpret_cast<const volatile T*>(mapped_ + offset);
    return static_cast<T>(trap_->read(base_ + offset, sizeof(T)));
  }

  template <class T>
  void write(u64 offset, T value) const {
    check<T>(offset);
    if (mapped_) [[likely]]
      *reinterpret_cast<volatile T*>(mapped_ + offset) = value;
    else
      trap_->write(base_ + offset, sizeof(T), value);
  }

  u32 read32(u64 offset) const { return read<u32>(offset); }
  u64 read64(u64 offset) const { return read<u64>(offset); }
  void write32(u64 offset, u32 value) const { write<u32>(offset, value); }
  void write64(u64 offset, u64 value) const { write<u64>(offset, value); }

  // A part of the region, with offsets of its own.
  Mmio window(u64 offset, u64 size) const {
    DOORBELL_CHECK(offset <= size_ && size <= size_ - offset,
                   "window {:#x}+{:#x} of a region of {:#x}", offset, size, size_);
    Mmio part = *this;
    if (mapped_)
      part.mapped_ += offset;
    else
      part.base_ += offset;
    part.size_ = size;
    return part;
  }

  u64 size() const { return size_; }
  bool is_mapped() const { return mapped_ != nullptr; }

 private:
  // Checked in debug builds only: window() has bounded the region, and ringing a doorbell must be
  // one store.
  template <class T>
  void check([[maybe_unused]] u64 offset) const {
    DOORBELL_DCHECK(offset % sizeof(T) == 0 && size_ >= sizeof(T) && offset <= size_ - sizeof(T),
                    "{} bytes at {:#x} of a region of {:#x}", sizeof(T), offset, size_);
  }

  volatile u8* mapped_ = nullptr;
  MmioTrap* trap_ = nullptr;
  u64 base_ = 0;  // offset of this window in the trap's region
  u64 size_ = 0;
};

// Orders this thread's writes to memory, write-combined memory included, before its next write as
// the device sees them.
inline void fence_writes() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#elif defined(__aarch64__)
  asm volatile("dsb st" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace doorbell::os
