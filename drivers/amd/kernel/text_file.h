// TextFile: a file of a virtual path under /sys: text that is there already, and read-only.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/os/files.h"

namespace doorbell::amd {

class TextFile final : public os::File {
 public:
  // `text` is borrowed.
  explicit TextFile(const std::string& text) : text_(text) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    if (offset >= text_.size()) return usize{0};
    const usize count = std::min(into.size(), text_.size() - static_cast<usize>(offset));
    std::memcpy(into.data(), text_.data() + offset, count);
    return count;
  }
  Result<void> write_at(u64 offset, std::span<const u8>) override {
    return fail_errno(EACCES, "write at {:#x} of a read-only text", offset);
  }
  Result<u64> size() override { return u64{text_.size()}; }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    return fail_errno(ENODEV, "map {:#x} bytes of a text", request.size);
  }
  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x} of a text", request);
  }
  int descriptor() const override { return -1; }

 private:
  const std::string& text_;
};

}  // namespace doorbell::amd
