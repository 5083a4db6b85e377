// Writes the folders, texts and links of emulator/amd/kfd/topology.h.
#include "emulator/preload/system_root.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/amd/kfd/kfd_files.h"
#include "emulator/amd/machine.h"

namespace doorbell::emu {
namespace {

namespace fs = std::filesystem;

// Adds amdgpu to the modules, because clients look for it.
std::string modules() {
  std::stringstream text;
  if (std::ifstream host("/proc/modules"); host) text << host.rdbuf();
  return text.str() + "amdgpu 19718144 0 - Live 0x0000000000000000\n";
}

Result<void> write_file(const fs::path& file, std::string_view bytes) {
  std::error_code why;
  fs::create_directories(file.parent_path(), why);
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  if (!out.flush()) return fail(ErrorKind::Os, "cannot write {}", file.string());
  return {};
}

// The files of this folder. Regions are names, by which the preload shim knows them; a region's
// size cannot be changed.
Result<void> copy_folder(os::Files& machine, const std::string& folder, const std::string& root) {
  TRY(const std::vector<std::string> names, machine.list(folder));
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (name.ends_with("_resize")) continue;
    const bool has_contents = !name.starts_with("resource") || name == "resource";
    std::vector<u8> bytes;
    if (has_contents && name != "enable") {
      TRY(const std::unique_ptr<os::File> file, machine.open(path, os::Access::Read));
      TRY(const u64 size, file->size());
      bytes.resize(size);
      TRY(const usize count, file->read_at(0, bytes));
      bytes.resize(count);
    }
    TRY(write_file(root + path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return {};
}

}  // namespace

Result<void> write_bare_root(const std::string& root, std::span<const std::string> gpus) {
  constexpr const char* kDevices = "/sys/bus/pci/devices";
  amdgpu::MachineOptions options;
  options.gpus.assign(gpus.begin(), gpus.end());
  options.bare = true;
  TRY(const std::unique_ptr<amdgpu::Machine> machine, amdgpu::Machine::create(std::move(options)));
  const std::unique_ptr<os::Files> files = machine->files(os::host_files());
  TRY(const std::vector<std::string> devices, files->list(kDevices));
  for (const std::string& device : devices)
    TRY(copy_folder(*files, fmt::format("{}/{}", kDevices, device), root));
  TRY(copy_folder(*files, "/lib/firmware/amdgpu", root));
  TRY(write_file(root + "/proc/sys/vm/compact_unevictable_allowed", "0\n"));
  return write_file(root + "/proc/self/pagemap", "");
}

Result<void> write_system_root(const std::string& root, std::span<const std::string> gpus) {
  TRY(const std::vector<amdgpu::Slot> slots, amdgpu::make_slots(gpus));
  amdgpu::SystemFiles files = amdgpu::make_system_tree(slots).files();
  files.files["/proc/modules"] = modules();
  std::error_code why;
  for (const auto& [path, text] : files.files) {
    TRY(write_file(root + path, text));
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
