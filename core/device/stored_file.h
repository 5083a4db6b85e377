// StoredFile: an open file whose bytes are the memory of buffers, on the device DISK. drivers/disk
// reads and writes them; for tensors over them see tensor/api/disk.h.
//
// Thread safety: all functions may be called from any thread. Concurrent writes of threads or
// processes to the same bytes are not ordered.
#pragma once

#include <memory>
#include <string>

#include "base/os/files.h"
#include "core/device/buffer.h"

namespace doorbell::core {

// Shared by the buffers over it; the last of them closes it.
struct StoredFile : std::enable_shared_from_this<StoredFile> {
  std::unique_ptr<os::File> file;
  std::string path;  // as given to open, for messages
  bool is_writable = false;
};

enum class FileUse : u8 { Read, Write, Make };

// Opens a regular file. Write: for writing too if permitted, otherwise only for reading. Make: as
// Write, and a missing file is created, sparse, with `bytes` bytes of zeros.
Result<std::shared_ptr<StoredFile>> open_stored(os::Files& files, const std::string& path,
                                                FileUse use, i64 bytes = 0);

// `bytes` bytes from `offset` on as memory of `disk`. Fails if the file ends before; the message
// has both sizes.
Result<Ref<Buffer>> part_of_file(Device& disk, std::shared_ptr<StoredFile> file, i64 offset,
                                 i64 bytes);
// The file behind memory that part_of_file returned.
inline StoredFile& stored_file(const Allocation& memory) {
  return *static_cast<StoredFile*>(memory.opaque);
}

}  // namespace doorbell::core
