// StoredFile: an open file whose bytes are the memory of buffers, on the device DISK. Reading and
// writing them is drivers/disk's; what tensors make of them is tensor/api/disk.h's.
//
// Thread safety: all functions may be called from any thread. Nobody orders what several threads
// or processes write to the same bytes.
#pragma once

#include <memory>
#include <string>

#include "base/os/files.h"
#include "core/device/buffer.h"

namespace doorbell::core {

// Shared by the buffers over it, each of which may be the last.
struct StoredFile : std::enable_shared_from_this<StoredFile> {
  std::unique_ptr<os::File> file;
  std::string path;  // as it was opened, for messages
  bool is_writable = false;
};

enum class FileUse : u8 { Read, Write, Make };

// Opens a regular file; Write: for writing too, where we may, else for reading. Make: as Write, and
// a file that is missing is made with `bytes` bytes of zeros, of which none is stored before it is
// written.
Result<std::shared_ptr<StoredFile>> open_stored(os::Files& files, const std::string& path,
                                                FileUse use, i64 bytes = 0);

// `bytes` bytes from `offset` on as memory of `disk`. Fails where the file ends before, with both
// sizes.
Result<Ref<Buffer>> part_of_file(Device& disk, std::shared_ptr<StoredFile> file, i64 offset,
                                 i64 bytes);
// Of memory that part_of_file gave.
inline StoredFile& stored_file(const Allocation& memory) {
  return *static_cast<StoredFile*>(memory.opaque);
}

}  // namespace doorbell::core
