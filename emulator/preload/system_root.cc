// Writes the folders, texts and links of emulator/amd/kfd/topology.h.
#include "emulator/preload/system_root.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/util/try.h"
#include "emulator/amd/kfd/kfd_files.h"

namespace doorbell::emu {
namespace {

namespace fs = std::filesystem;

// Adds amdgpu to the modules, because clients look for it.
std::string modules() {
  std::stringstream text;
  if (std::ifstream host("/proc/modules"); host) text << host.rdbuf();
  return text.str() + "amdgpu 19718144 0 - Live 0x0000000000000000\n";
}

}  // namespace

Result<void> write_system_root(const std::string& root, std::span<const std::string> gpus) {
  TRY(const std::vector<amdgpu::Slot> slots, amdgpu::make_slots(gpus));
  amdgpu::SystemFiles files = amdgpu::make_system_tree(slots).files();
  files.files["/proc/modules"] = modules();
  std::error_code why;
  for (const auto& [path, text] : files.files) {
    fs::path file = root + path;
    fs::create_directories(file.parent_path(), why);
    std::ofstream out(file, std::ios::binary);
    out << text;
    if (!out.flush()) return fail(ErrorKind::Os, "cannot write {}", file.string());
  }
  for (const auto& [from, to] : files.links) {
    fs::path link = root + from;
    fs::create_directories(link.parent_path(), why);
    // The machine's targets are below the root; others are the host's.
    fs::path target = fs::exists(root + to) ? root + to : to;
    fs::create_symlink(target, link, why);
    if (why) return fail_errno(why.value(), "link {} to {}", link.string(), target.string());
  }
  return {};
}

}  // namespace doorbell::emu
