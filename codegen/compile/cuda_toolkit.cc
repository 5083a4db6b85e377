// Looking into folders. A toolkit keeps libraries in lib64 (Debian's in lib), a wheel in lib.
#include "codegen/compile/cuda_toolkit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "base/util/try.h"

namespace doorbell::codegen {
namespace {

constexpr int kOldest = 12, kNewest = 13;  // major versions, of which file names speak
constexpr std::string_view kUsual[] = {"/usr/local/cuda", "/opt/cuda"};

// The folder, and those in it.
std::vector<std::string> with_children(os::Files& files, const std::string& folder) {
  std::vector<std::string> all = {folder};
  Result<std::vector<std::string>> names = files.list(folder);
  if (!names) return all;
  for (const std::string& name : *names) all.push_back(folder + "/" + name);
  return all;
}

// The 13 of "libnvrtc.so.13"; 0 of "libnvrtc.so.13.0.88" and of everything else.
int major_version(std::string_view file, std::string_view prefix) {
  if (!file.starts_with(prefix)) return 0;
  file.remove_prefix(prefix.size());
  int version = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), version);
  return error == std::errc() && end == file.data() + file.size() ? version : 0;
}

void add_libraries(os::Files& files, const std::string& folder, std::string_view library,
                   std::vector<std::string>* names) {
  const std::string prefix = std::string(library) + ".so.";
  std::map<int, std::string, std::greater<>> by_version;
  for (const std::string& place : with_children(files, folder)) {
    for (const char* inner : {"/lib64", "/lib"}) {
      Result<std::vector<std::string>> found = files.list(place + inner);
      if (!found) continue;
      for (const std::string& file : *found) {
        const int version = major_version(file, prefix);
        if (version >= kOldest) by_version.try_emplace(version, place + inner + "/" + file);
      }
    }
  }
  for (const auto& [version, path] : by_version) names->push_back(path);
}

}  // namespace

std::vector<std::string> cuda_library_names(const CudaFolders& where, std::string_view library) {
  std::vector<std::string> names;
  for (const std::string& folder : where.folders)
    add_libraries(*where.files, folder, library, &names);
  for (int version = kNewest; version >= kOldest; --version)
    names.push_back(fmt::format("{}.so.{}", library, version));
  for (std::string_view folder : kUsual)
    add_libraries(*where.files, std::string(folder), library, &names);
  return names;
}

Result<const os::Library*> open_cuda_library(const CudaFolders& where, std::string_view library,
                                             std::string_view remedy) {
  Result<os::Library> opened = os::Library::open(cuda_library_names(where, library));
  if (!opened) {
    std::string folders;
    for (const std::string& folder : where.folders) folders += folder + ", ";
    for (std::string_view folder : kUsual) folders.append(folder).append(", ");
    return fail(ErrorKind::NotFound,
                "no {} of CUDA 12 or later: {}, or set CUDA_PATH to its folder; looked in {}and "
                "asked the system's loader ({})",
                library, remedy, folders, opened.error().message);
  }
  // Their own statics would not survive a second time; reachable for good, so that no leak checker
  // minds.
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<os::Library>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::make_unique<os::Library>(std::move(*opened)));
  return kept.back().get();
}

// [PTX ISA 9.0, "PTX Release History"]
int newest_ptx(int major, int minor) {
  constexpr int kOf12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88}, kOf13 = 90;
  if (major > 12) return kOf13;
  return kOf12[std::clamp(minor, 0, static_cast<int>(std::size(kOf12)) - 1)];
}

std::string find_cuda_program(const CudaFolders& where, std::string_view program) {
  std::vector<std::string> folders = where.folders;
  folders.insert(folders.end(), std::begin(kUsual), std::end(kUsual));
  for (const std::string& folder : folders) {
    for (const std::string& place : with_children(*where.files, folder)) {
      const std::string path = fmt::format("{}/bin/{}", place, program);
      if (where.files->exists(path)) return path;
    }
  }
  return std::string(program);
}

}  // namespace doorbell::codegen
