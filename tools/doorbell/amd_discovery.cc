// `doorbell amd discovery`: the table by which an AMD GPU describes itself, of GPUs without a
// kernel driver, of emulated ones, or from a file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/os/host.h"
#include "base/os/usb.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "runtime/device_kind.h"
#include "runtime/emulated/emulated_amd.h"
#include "runtime/environment.h"
#include "runtime/target.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

using amd::PciKernel;

struct Options {
  std::string device = "PCI+AMD", file;
  bool json = false;
};

std::vector<PciKernel::Description> read_device(const std::string& device) {
  const auto targets = or_throw(runtime::parse_targets(device, "--device"));
  if (targets.size() == 1 && targets[0].device == "AMD") {
    const std::string& iface = targets[0].iface;
    if (iface == "PCI")
      return or_throw(PciKernel::open(os::host_files(), os::host_clock()))->descriptions();
    if (iface == "USB")
      return or_throw(PciKernel::open_usb(os::host_files(), os::host_usb(), os::host_clock()))
          ->descriptions();
    if (iface == "EMUPCI" || iface == "EMUUSB") {
      const auto door = iface == "EMUPCI" ? runtime::EmulatedDoor::Pci : runtime::EmulatedDoor::Usb;
      const auto config = or_throw(runtime::read_environment(runtime::process_environment()));
      const auto settings =
          or_throw(read_settings<runtime::EmulatorSettings>(runtime::setting_values(config)));
      const auto emulated = or_throw(runtime::open_emulated_amd(settings, targets[0].arch, door));
      return emulated->pci()->descriptions();
    }
  }
  throw fail(ErrorKind::Invalid,
             "--device is {}, expected PCI+AMD, USB+AMD, EMUPCI+AMD or EMUUSB+AMD", device);
}

std::string name_of(u16 hardware_id) {
  for (const amd::hw::BlockName& block : amd::hw::kBlockNames)
    if (block.hardware_id == hardware_id) return std::string(block.name);
  return fmt::format("block {}", hardware_id);
}

void print(const PciKernel::Description& gpu) {
  if (!gpu.id.address.empty())
    fmt::print("GPU {} ({:#06x}), {} MiB{}\n", gpu.id.address, gpu.id.device,
               gpu.memory_bytes >> 20,
               gpu.shown_bytes == gpu.memory_bytes
                   ? ""
                   : fmt::format(", {} MiB of them shown on the bus", gpu.shown_bytes >> 20));
  const amd::hw::GraphicsInfo& graphics = gpu.discovery.graphics;
  fmt::print("{} shader engines of {} arrays of {} compute units, waves of {}, {} on a SIMD\n",
             graphics.engines, graphics.arrays_per_engine, graphics.units_per_array,
             graphics.wave_size, graphics.waves_per_simd);
  for (const amd::hw::IpInstance& block : gpu.discovery.blocks) {
    std::string bases;
    for (const u64 base : block.bases) bases += fmt::format(" {:#x}", base);
    fmt::print("  {:<10} {:<8} die {} instance {}{}{}\n", name_of(block.hardware_id),
               to_string(block.version), block.die, block.instance,
               block.is_harvested ? ", fused off;" : ";", bases);
  }
}

nlohmann::json to_json(const PciKernel::Description& gpu) {
  const amd::hw::GraphicsInfo& graphics = gpu.discovery.graphics;
  nlohmann::json blocks = nlohmann::json::array();
  for (const amd::hw::IpInstance& block : gpu.discovery.blocks)
    blocks.push_back({{"name", name_of(block.hardware_id)},
                      {"hardware_id", block.hardware_id},
                      {"version", to_string(block.version)},
                      {"die", block.die},
                      {"instance", block.instance},
                      {"harvested", block.is_harvested},
                      {"bases", block.bases}});
  return {{"address", gpu.id.address},
          {"device_id", gpu.id.device},
          {"memory_bytes", gpu.memory_bytes},
          {"shown_bytes", gpu.shown_bytes},
          {"engines", graphics.engines},
          {"arrays_per_engine", graphics.arrays_per_engine},
          {"compute_units_per_array", graphics.units_per_array},
          {"wave_size", graphics.wave_size},
          {"waves_per_simd", graphics.waves_per_simd},
          {"blocks", blocks}};
}

int run(const Options& options) {
  std::vector<PciKernel::Description> gpus;
  if (options.file.empty()) {
    gpus = read_device(options.device);
  } else {
    const std::vector<u8> table = or_throw(os::read_file(os::host_files(), options.file));
    gpus.push_back({.discovery = or_throw(amd::hw::read_discovery(table))});
  }
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const PciKernel::Description& gpu : gpus) all.push_back(to_json(gpu));
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  for (const PciKernel::Description& gpu : gpus) print(gpu);
  return 0;
}

}  // namespace

void add_amd_discovery(CLI::App* amd, int* status) {
  CLI::App* command = amd->add_subcommand(
      "discovery", "Print a GPU's own table of its blocks, their versions and base addresses");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command
      ->add_option(
          "--device", options->device,
          "PCI+AMD, GPUs without a kernel driver (default), USB+AMD, EMUPCI+AMD or EMUUSB+AMD")
      ->option_text("DEV");
  command
      ->add_option("--file", options->file,
                   "A table from elsewhere, as debugfs has it: dri/0/amdgpu_discovery")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
