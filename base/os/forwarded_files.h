// ForwardedFiles: files of another door. A door that adds device nodes to it derives from this and
// overrides what it changes.
//
// Thread safety: that of the other door.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/descriptor_files.h"

namespace doorbell::os {

class ForwardedFiles : public DescriptorFiles {
 public:
  // `files` is borrowed, and used only by calls.
  explicit ForwardedFiles(Files& files) : files_(files) {}

  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    return files_.open(path, access);
  }
  Result<std::unique_ptr<File>> adopt(int descriptor, std::string what) override {
    auto* const door = dynamic_cast<DescriptorFiles*>(&files_);
    if (door == nullptr) return fail(ErrorKind::Unsupported, "a descriptor of {}", what);
    return door->adopt(descriptor, std::move(what));
  }
  Result<Mapping> map_anonymous(const MapRequest& request) override {
    return files_.map_anonymous(request);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return files_.remove(path); }
  Result<void> make_folders(const std::string& path) override { return files_.make_folders(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return files_.list(path);
  }
  bool exists(const std::string& path) override { return files_.exists(path); }

 private:
  Files& files_;
};

}  // namespace doorbell::os
