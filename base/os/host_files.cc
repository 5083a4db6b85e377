// Files, device nodes and mappings of Linux and macOS.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/os/descriptor_files.h"
#include "base/os/host.h"
#include "base/util/try.h"

namespace doorbell::os {
namespace {

void unmap(void*, u8* data, usize size) { munmap(data, size); }

}  // namespace

Result<void> set_inherited(u8* data, usize size, bool inherited) {
#ifdef MADV_DONTFORK
  if (madvise(data, size, inherited ? MADV_DOFORK : MADV_DONTFORK) != 0)
    return fail_errno(errno, "keep {} bytes of memory from children", size);
#else
  static_cast<void>(data), static_cast<void>(size), static_cast<void>(inherited);
#endif
  return {};
}

Result<Mapping> map_descriptor(int descriptor, const MapRequest& request, std::string_view what) {
  int protection = (request.readable ? PROT_READ : 0) | (request.writable ? PROT_WRITE : 0) |
                   (request.executable ? PROT_EXEC : 0);
  int flags = request.shared ? MAP_SHARED : MAP_PRIVATE;
  if (descriptor < 0) flags |= MAP_ANONYMOUS;
  if (request.at) flags |= MAP_FIXED;
#ifdef MAP_POPULATE
  if (request.populate) flags |= MAP_POPULATE;
#endif
#ifdef MAP_LOCKED
  if (request.locked) flags |= MAP_LOCKED;
#endif
#ifdef MAP_NORESERVE
  if (protection == PROT_NONE) flags |= MAP_NORESERVE;
#endif
  void* data = mmap(request.at, request.size, protection, flags, descriptor,
                    static_cast<off_t>(request.offset));
  if (data == MAP_FAILED) return fail_errno(errno, "map {} bytes of {}", request.size, what);
  Mapping mapping(static_cast<u8*>(data), request.size, unmap, nullptr);
  if (!request.inherited) TRY(set_inherited(mapping.data(), mapping.size(), false));
  return mapping;
}

namespace {

class HostFile final : public File {
 public:
  HostFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~HostFile() override { ::close(descriptor_); }

  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    for (;;) {
      ssize_t got = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
      if (got >= 0) return static_cast<usize>(got);
      if (errno != EINTR) return fail_errno(errno, "read {} at {}", path_, offset);
    }
  }

  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    while (!bytes.empty()) {
      ssize_t put = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail_errno(errno, "write {} bytes of {}", bytes.size(), path_);
      bytes = bytes.subspan(static_cast<usize>(put));
      offset += static_cast<u64>(put);
    }
    return {};
  }

  Result<u64> size() override {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) return fail_errno(errno, "stat {}", path_);
    return static_cast<u64>(status.st_size);
  }

  Result<void> sync() override {
    while (fsync(descriptor_) != 0)
      if (errno != EINTR) return fail_errno(errno, "sync {}", path_);
    return {};
  }

  Result<void> take_owner_and_mode(const FileStatus& status) override {
    // A change of the owner clears the set-user bits, so the mode comes last.
    const bool owned = fchown(descriptor_, status.owner, status.group) == 0;
    const bool grouped = owned || fchown(descriptor_, static_cast<uid_t>(-1), status.group) == 0;
    mode_t mode = status.mode;
    if (!owned) mode &= ~static_cast<mode_t>(S_ISUID);
    if (!grouped) mode &= ~static_cast<mode_t>(S_ISGID);
    if (fchmod(descriptor_, mode) != 0) return fail_errno(errno, "set the mode of {}", path_);
    return {};
  }

  Result<Mapping> map(const MapRequest& request) override {
    return map_descriptor(descriptor_, request, path_.c_str());
  }

  Result<bool> try_lock() override {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    return fail_errno(errno, "lock {}", path_);
  }

  Result<int> ioctl(unsigned long request, void* argument) override {
    for (;;) {
      int answer = ::ioctl(descriptor_, request, argument);
      if (answer >= 0) return answer;
      if (errno != EINTR) return fail_errno(errno, "ioctl {:#x} of {}", request, path_);
    }
  }

  Result<bool> wait_ready(u64 timeout_ns) override {
    constexpr u64 kMillisecond_ns = 1'000'000, kLongest_ms = INT_MAX;
    // poll() counts milliseconds: a shorter wait is rounded up, so that waiters do not spin.
    const u64 timeout_ms =
        std::min(timeout_ns / kMillisecond_ns + (timeout_ns % kMillisecond_ns != 0), kLongest_ms);
    pollfd file{descriptor_, POLLIN | POLLPRI, 0};
    if (::poll(&file, 1, static_cast<int>(timeout_ms)) >= 0) return file.revents != 0;
    if (errno == EINTR) return false;
    return fail_errno(errno, "wait for {}", path_);
  }

  int descriptor() const override { return descriptor_; }

 private:
  int descriptor_;
  std::string path_;
};

std::string_view word_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device node";
}

// Follows links, also to a target that does not exist. stat() has excluded cycles, but another
// process may make one meanwhile.
std::string behind_links(std::string path) {
  constexpr int kMaxLinks = 40;  // as Linux has it
  char target[4096];
  for (int i = 0; i < kMaxLinks; ++i) {
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length <= 0) return path;
    const std::string to(target, static_cast<usize>(length));
    path = to[0] == '/' ? to : path.substr(0, path.rfind('/') + 1) + to;
  }
  return path;
}

class HostFiles final : public DescriptorFiles {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    int flags = O_CLOEXEC;
    switch (access) {
      case Access::Read: flags |= O_RDONLY; break;
      case Access::ReadWrite: flags |= O_RDWR; break;
      case Access::Create: flags |= O_RDWR | O_CREAT | O_TRUNC; break;
      case Access::Private: flags |= O_RDWR | O_CREAT | O_EXCL; break;
    }
    const mode_t mode = access == Access::Private ? 0600 : 0666;
    int descriptor;
    do descriptor = ::open(path.c_str(), flags, mode);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return fail_errno(errno, "open {}", path);
    return std::make_unique<HostFile>(descriptor, path);
  }

  Result<std::unique_ptr<File>> adopt(int descriptor, std::string what) override {
    return std::make_unique<HostFile>(descriptor, std::move(what));
  }

  Result<Mapping> map_anonymous(const MapRequest& request) override {
    return map_descriptor(-1, request, "memory");
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      return fail_errno(errno, "rename {} to {}", from, to);
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return fail_errno(errno, "remove {}", path);
    return {};
  }

  Result<void> make_folders(const std::string& path) override {
    for (usize end = 1; end <= path.size(); ++end) {
      if (end < path.size() && path[end] != '/') continue;
      std::string folder = path.substr(0, end);
      if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) continue;
      // A parent that exists is fine, even if it is not writable.
      int why = errno;
      if (!exists(folder)) return fail_errno(why, "make folder {}", folder);
    }
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return fail_errno(errno, "make folder {}", path);
    if (!S_ISDIR(status.st_mode)) return fail_errno(ENOTDIR, "make folder {}", path);
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    DIR* folder = opendir(path.c_str());
    if (!folder) return fail_errno(errno, "list {}", path);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(folder))
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        names.emplace_back(entry->d_name);
    closedir(folder);
    std::sort(names.begin(), names.end());
    return names;
  }

  bool exists(const std::string& path) override {
    struct stat status;
    return stat(path.c_str(), &status) == 0;
  }

  Result<FileStatus> status(const std::string& path) override {
    struct stat found;
    if (stat(path.c_str(), &found) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) return fail_errno(errno, "stat {}", path);
      return FileStatus{.path = behind_links(path)};
    }
    FileStatus status{.path = behind_links(path)};
    status.kind = S_ISREG(found.st_mode)   ? FileStatus::Kind::Regular
                  : S_ISDIR(found.st_mode) ? FileStatus::Kind::Folder
                                           : FileStatus::Kind::Other;
    if (status.kind == FileStatus::Kind::Other) status.word = word_of(found.st_mode);
    if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) status.write_errno = errno;
    status.mode = found.st_mode & 07777;
    status.owner = found.st_uid;
    status.group = found.st_gid;
    return status;
  }
};

}  // namespace

Files& host_files() {
  static Files& files = *new HostFiles;
  return files;
}

u64 host_page_bytes() { return static_cast<u64>(sysconf(_SC_PAGESIZE)); }

}  // namespace doorbell::os
