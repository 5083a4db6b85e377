// The doors to files and device nodes. Production passes os::host_system() (base/os/host.h), the
// emulator and the tests pass their own; a tracer can wrap any of them. Paths are those of the
// system, errors keep its errno.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/mapping.h"
#include "base/os/mmio.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

enum class Access : u8 {
  Read,       // must exist
  ReadWrite,  // must exist: device nodes
  Create,     // new or emptied, for writing
  Private,    // new, must not exist; no other user may open it until its mode is changed
};

// What a path names, with all symbolic links followed.
struct FileStatus {
  enum class Kind : u8 { Missing, Regular, Folder, Other };
  Kind kind = Kind::Missing;
  std::string path;            // with links followed; of a missing file: where it would be made
  std::string_view word = "";  // of the kind Other: "a FIFO"
  int write_errno = 0;         // why this process may not write to it; 0: writable
  u32 mode = 0;                // permission bits
  u32 owner = 0, group = 0;
};

struct MapRequest {
  usize size = 0;
  u64 offset = 0;        // in the file, or the cookie that a device gave out
  bool readable = true;  // neither readable nor writable: address space only
  bool writable = false;
  bool executable = false;
  bool shared = true;     // stores reach the file or device
  bool populate = false;  // fault the pages in now
  bool locked = false;    // they stay in memory; needs the right to lock so many
  // Forked children inherit the mapping. If false, the range is unmapped in them, and they do not
  // keep the mapped memory alive.
  bool inherited = true;
  u8* at = nullptr;  // this address, replacing what was mapped; null: anywhere
};

// Registers or doorbells of a device, while `mapping` lives. A door that traps accesses returns a
// mapping without memory; releasing it ends the trap.
struct MappedRegisters {
  Mapping mapping;
  Mmio mmio;
};

// An open file or device node; closed by its destructor.
// Thread safety: ioctl, wait_ready and calls with an offset from any thread; the others from one at
// a time.
class File {
 public:
  virtual ~File() = default;

  // May return fewer bytes at the end of the file.
  virtual Result<usize> read_at(u64 offset, std::span<u8> into) = 0;
  virtual Result<void> write_at(u64 offset, std::span<const u8> bytes) = 0;
  virtual Result<u64> size() = 0;
  // Makes what was written survive a loss of power. May block as long as the disk takes.
  virtual Result<void> sync();
  // Owner, group and mode become those of `status`. An owner that this process may not give stays
  // as it is, without a set-user bit.
  virtual Result<void> take_owner_and_mode(const FileStatus& status);
  virtual Result<Mapping> map(const MapRequest& request) = 0;
  // Maps registers, which are accessed only through the Mmio returned: mapped memory, unless the
  // device has to see each access.
  virtual Result<MappedRegisters> map_registers(const MapRequest& request);
  // Until it is closed, nobody else's succeeds for this file. False: somebody else has it. A door
  // whose files are its own always succeeds.
  virtual Result<bool> try_lock() { return true; }
  // The request determines the argument's type. Retried when a signal interrupts it.
  virtual Result<int> ioctl(unsigned long request, void* argument) = 0;
  // Blocks until the device has an event for this file, for at most `timeout_ns`, or until a signal
  // interrupts. False: no event came. A file that is no device is always ready.
  virtual Result<bool> wait_ready(u64 timeout_ns);
  // The file descriptor that other doors (dma-buf, drm) take; -1 if there is none.
  virtual int descriptor() const = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual Result<std::unique_ptr<File>> open(const std::string& path, Access access) = 0;
  // Memory without a file: address space, host buffers.
  virtual Result<Mapping> map_anonymous(const MapRequest& request) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  // Makes missing parents too; folders that exist are no error.
  virtual Result<void> make_folders(const std::string& path) = 0;
  // Names, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  // Default of a door: all files are regular and writable, and there are no links.
  virtual Result<FileStatus> status(const std::string& path);
};

// These refuse folders, device nodes, FIFOs and sockets, and never wait for a writer.
Result<std::vector<u8>> read_file(Files& files, const std::string& path);
Result<std::string> read_text(Files& files, const std::string& path);

// Maps the whole file, read-only and private: a model's weights, a library.
Result<Mapping> map_file(Files& files, const std::string& path);

// Replaces a file atomically: readers see the old content or the new, even if this process or the
// machine dies meanwhile. A symbolic link stays and its target is replaced; an existing file keeps
// its mode, owner and group; it is an error, and nothing changes, if the path is not a regular file
// or is not writable. Other hard links keep the old content. May block as long as the disk takes.
// `unique` tells writers of the same path apart: take it from Random.
Result<void> replace_file(Files& files, const std::string& path, std::span<const u8> bytes,
                          u64 unique);

}  // namespace doorbell::os
