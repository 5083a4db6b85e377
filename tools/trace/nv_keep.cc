// Submissions as folders of files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tools/trace/nv_recorder.h"

namespace doorbell::tools {

using namespace nv::hw;

namespace {

constexpr u32 kMostKept = 1000;  // submissions

void write_file(const std::filesystem::path& path, const void* data, usize bytes) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

// A chip with the channel's compute class; empty: none is bound.
std::string chip_of(const Subchannels& bound) {
  const auto compute = std::ranges::find(bound, ClassKind::Compute, kind_of);
  if (compute == bound.end()) return {};
  std::string names = chips_with_classes();
  while (!names.empty()) {
    const usize end = std::min(names.find(", "), names.size());
    const std::string name = names.substr(0, end);
    names.erase(0, std::min(end + 2, names.size()));
    const ChipClasses* classes = find_classes(name);
    if (classes != nullptr && classes->compute == *compute) return name;
  }
  return {};
}

}  // namespace

// The client must not fail where the disk is full: a file that cannot be written is left out.
void NvRecorder::keep(const Channel& channel, std::span<const u32> words,
                      const std::vector<Part>& parts, const std::string& text) {
  if (kept_ >= kMostKept) return;
  const std::filesystem::path folder =
      std::filesystem::path(folder_) /
      fmt::format("{:04}-channel-{:x}", kept_++, channel.key.second);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return;
  write_file(folder / "gpfifo.bin", words.data(), words.size_bytes());
  write_file(folder / "packets.txt", text.data(), text.size());
  std::string command = "doorbell decode gpfifo gpfifo.bin";
  if (const std::string chip = chip_of(channel.reader.bound()); !chip.empty())
    command += " --gpu " + chip;
  for (usize i = 0; i < parts.size(); ++i) {
    const std::string name = fmt::format("{:03}.bin", i);
    write_file(folder / name, parts[i].bytes.data(), parts[i].bytes.size());
    command += fmt::format(" --memory {}@{:#x}", name, parts[i].address);
  }
  command += '\n';
  write_file(folder / "decode", command.data(), command.size());
}

}  // namespace doorbell::tools
