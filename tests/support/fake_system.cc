// The made-up world's behaviour; errors are those that Linux gives.
#include "tests/support/fake_system.h"

#include <algorithm>
#include <cerrno>

#include "base/util/try.h"

namespace doorbell::testing {
namespace {

class FakeFile final : public os::File {
 public:
  FakeFile(FakeFiles& world, FakeFiles::Content content) : world_(world), content_(content) {}

  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    if (offset >= content_->size()) return usize{0};
    usize count = std::min<usize>(into.size(), content_->size() - offset);
    std::copy_n(content_->begin() + static_cast<i64>(offset), count, into.begin());
    return count;
  }

  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    if (world_.fail_writes_after >= 0) {
      if (bytes.size() > static_cast<usize>(world_.fail_writes_after))
        return fail_errno(ENOSPC, "write {} bytes", bytes.size());
      world_.fail_writes_after -= static_cast<int>(bytes.size());
    }
    content_->resize(std::max<usize>(content_->size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), content_->begin() + static_cast<i64>(offset));
    return {};
  }

  Result<u64> size() override { return u64{content_->size()}; }

  // A private copy: what a reader sees must not depend on later writes.
  Result<os::Mapping> map(const os::MapRequest& request) override {
    auto* copy = new std::vector<u8>(request.size);
    TRY(read_at(request.offset, *copy));
    auto release = [](void* context, u8*, usize) { delete static_cast<std::vector<u8>*>(context); };
    return os::Mapping(copy->data(), copy->size(), release, copy);
  }

  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x}", request);
  }
  int descriptor() const override { return -1; }

 private:
  FakeFiles& world_;
  FakeFiles::Content content_;
};

std::string folder_of(const std::string& path) {
  usize slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

void FakeFiles::add(const std::string& path, std::string_view text) {
  static_cast<void>(make_folders(folder_of(path)));
  files[path] = std::make_shared<std::vector<u8>>(text.begin(), text.end());
}

std::string FakeFiles::text(const std::string& path) const {
  auto found = files.find(path);
  if (found == files.end()) return "(no file " + path + ")";
  return std::string(found->second->begin(), found->second->end());
}

Result<std::unique_ptr<os::File>> FakeFiles::open(const std::string& path, os::Access access) {
  if (access != os::Access::Read && read_only.contains(path))
    return fail_errno(EACCES, "open {}", path);
  if (access == os::Access::Create || access == os::Access::Private) {
    if (!folders.contains(folder_of(path))) return fail_errno(ENOENT, "open {}", path);
    files[path] = std::make_shared<std::vector<u8>>();
  }
  auto found = files.find(path);
  if (found == files.end()) return fail_errno(ENOENT, "open {}", path);
  return std::make_unique<FakeFile>(*this, found->second);
}

Result<os::Mapping> FakeFiles::map_anonymous(const os::MapRequest& request) {
  auto* memory = new std::vector<u8>(request.size);
  auto release = [](void* context, u8*, usize) { delete static_cast<std::vector<u8>*>(context); };
  return os::Mapping(memory->data(), memory->size(), release, memory);
}

Result<void> FakeFiles::rename(const std::string& from, const std::string& to) {
  auto found = files.find(from);
  if (found == files.end()) return fail_errno(ENOENT, "rename {} to {}", from, to);
  Content content = found->second;
  files.erase(found);
  files[to] = content;
  return {};
}

Result<void> FakeFiles::remove(const std::string& path) {
  if (files.erase(path) == 0) return fail_errno(ENOENT, "remove {}", path);
  return {};
}

Result<void> FakeFiles::make_folders(const std::string& path) {
  for (usize end = 1; end <= path.size(); ++end)
    if (end == path.size() || path[end] == '/') folders.insert(path.substr(0, end));
  return {};
}

Result<std::vector<std::string>> FakeFiles::list(const std::string& path) {
  if (!folders.contains(path)) return fail_errno(ENOENT, "list {}", path);
  std::vector<std::string> names;
  auto collect = [&](const std::string& entry) {
    if (entry != path && folder_of(entry) == path)
      names.push_back(entry.substr(entry.rfind('/') + 1));
  };
  for (const auto& [name, content] : files) collect(name);
  for (const std::string& folder : folders) collect(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool FakeFiles::exists(const std::string& path) {
  return files.contains(path) || folders.contains(path);
}

// A counter run through the finalizer of splitmix64.
void FakeRandom::fill(std::span<u8> bytes) {
  for (u8& byte : bytes) {
    u64 value = state += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    byte = static_cast<u8>(value >> 56);
  }
}

}  // namespace doorbell::testing
