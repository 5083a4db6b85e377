// Descriptors by the identity of their files.
#include "emulator/nv/rm/nodes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/util/try.h"

namespace doorbell::emu::nvgpu {

Nodes::FileId Nodes::id_of(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return {0, 0};
  return {static_cast<u64>(status.st_dev), static_cast<u64>(status.st_ino)};
}

int Nodes::open(NodeKind kind, u32 gpu) {
  const int descriptor = memfd_create("nvidia node", MFD_CLOEXEC);
  if (descriptor < 0) return -1;
  auto file = std::make_shared<OpenFile>();
  file->kind = kind;
  file->gpu = gpu;
  files_[id_of(descriptor)] = std::move(file);
  return descriptor;
}

std::shared_ptr<OpenFile> Nodes::find(int descriptor) const {
  const auto found = files_.find(id_of(descriptor));
  return found == files_.end() ? nullptr : found->second;
}

Result<void> Nodes::replace(int descriptor, Memory& memory) {
  const std::shared_ptr<OpenFile> file = find(descriptor);
  TRY(const int mapped, memory.descriptor());
  files_.erase(id_of(descriptor));
  if (dup3(mapped, descriptor, O_CLOEXEC) < 0)
    return fail_errno(errno, "give descriptor {} memory", descriptor);
  files_[id_of(descriptor)] = file;
  return {};
}

void Nodes::forget(int descriptor) { files_.erase(id_of(descriptor)); }

}  // namespace doorbell::emu::nvgpu
