// Every call is passed on.
#include "tests/emulator/mutation/watched_files.h"

#include "base/os/forwarded_files.h"
#include "base/util/try.h"

namespace doorbell::testing {

namespace {

class WatchedFile final : public os::File {
 public:
  WatchedFile(std::unique_ptr<os::File> file, FileWatcher& watcher)
      : file_(std::move(file)), watcher_(watcher) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    return file_->read_at(offset, into);
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    return file_->write_at(offset, bytes);
  }
  Result<u64> size() override { return file_->size(); }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    Result<os::Mapping> mapping = file_->map(request);
    if (mapping) watcher_.mapped(request.offset, mapping->data());
    return mapping;
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    return file_->map_registers(request);
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return watcher_.ioctl(*file_, request, argument);
  }
  Result<bool> wait_ready(u64 timeout_ns) override { return file_->wait_ready(timeout_ns); }
  int descriptor() const override { return file_->descriptor(); }

 private:
  std::unique_ptr<os::File> file_;
  FileWatcher& watcher_;
};

class WatchedFiles final : public os::ForwardedFiles {
 public:
  WatchedFiles(std::unique_ptr<os::Files> files, FileWatcher& watcher)
      : ForwardedFiles(*files), files_(std::move(files)), watcher_(watcher) {}
  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override {
    TRY(std::unique_ptr<os::File> file, ForwardedFiles::open(path, access));
    if (!path.starts_with("/dev/")) return file;
    return std::unique_ptr<os::File>(std::make_unique<WatchedFile>(std::move(file), watcher_));
  }

 private:
  std::unique_ptr<os::Files> files_;
  FileWatcher& watcher_;
};

}  // namespace

std::unique_ptr<os::Files> watch_files(std::unique_ptr<os::Files> files, FileWatcher& watcher) {
  return std::make_unique<WatchedFiles>(std::move(files), watcher);
}

}  // namespace doorbell::testing
