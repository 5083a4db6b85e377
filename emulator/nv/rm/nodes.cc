// Descriptors by the identity of their files.
#include "emulator/nv/rm/nodes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/util/try.h"

namespace doorbell::emu::nvgpu {

OpenFile::~OpenFile() {
  if (event_end >= 0) close(event_end);
}

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

Result<void> Nodes::become(int descriptor, int other) {
  const std::shared_ptr<OpenFile> file = find(descriptor);
  files_.erase(id_of(descriptor));
  if (dup3(other, descriptor, O_CLOEXEC) < 0)
    return fail_errno(errno, "replace descriptor {}", descriptor);
  files_[id_of(descriptor)] = file;
  return {};
}

Result<void> Nodes::replace(int descriptor, Memory& memory) {
  TRY(const int mapped, memory.descriptor());
  return become(descriptor, mapped);
}

// A socket has an inode of its own, which an eventfd has not.
Result<void> Nodes::make_pollable(int descriptor) {
  const std::shared_ptr<OpenFile> file = find(descriptor);
  if (file->event_end >= 0) return {};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno(errno, "make descriptor {} one to poll", descriptor);
  file->event_end = ends[1];
  Result<void> done = become(descriptor, ends[0]);
  close(ends[0]);
  return done;
}

void Nodes::post_event(OpenFile& file) {
  if (file.has_event || file.event_end < 0) return;
  constexpr char kEvent = 0;
  file.has_event = send(file.event_end, &kEvent, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

bool Nodes::take_event(int descriptor) const {
  const std::shared_ptr<OpenFile> file = find(descriptor);
  if (!file || !file->has_event) return false;
  char event;
  file->has_event = false;
  return recv(descriptor, &event, 1, MSG_DONTWAIT) == 1;
}

void Nodes::forget(int descriptor) { files_.erase(id_of(descriptor)); }

}  // namespace doorbell::emu::nvgpu
