// `doorbell amd registers`, `walk`, `rings`, `interrupts`, `firmware` and `dump`: bring-up of a GPU
// that no kernel driver has, or of an emulated one. What they show is made by tools/amd_bare;
// docs/bring-up.md says what to look for.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/os/host.h"
#include "base/os/pci_driver.h"
#include "base/os/usb.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hw/bare/register_fields.h"
#include "runtime/device_kind.h"
#include "runtime/emulated/emulated_amd.h"
#include "runtime/environment.h"
#include "runtime/target.h"
#include "tools/amd_bare/views.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

using amd::PciKernel;
using amd::hw::Reg;

struct Options {
  std::string device = "PCI+AMD";
  usize gpu = 0;
  bool start = false, json = false, yes = false, from_start = false;
  std::vector<std::string> names;
  std::string assignment;   // NAME=VALUE
  std::string pci_address;  // "0000:03:00.0"
  u64 address = 0;
  u64 watch_ms = 0;
  usize taken = 16;
};

// A GPU, and what it stands on, in the order in which it is built.
struct Opened {
  std::unique_ptr<runtime::EmulatedAmd> emulated;
  std::unique_ptr<PciKernel> own_kernel;
  PciKernel* kernel = nullptr;
  std::shared_ptr<amd::Kfd> kfd;
  std::unique_ptr<amd::AmdDevice> device;  // where it was started
  PciKernel::Viewed viewed;

  BareGpuView view() const { return {*viewed.gpu, *kernel}; }
};

void open_kernel(const Options& options, Opened* opened) {
  const auto targets = or_throw(runtime::parse_targets(options.device, "--device"));
  const bool is_amd = targets.size() == 1 && targets[0].device == "AMD";
  const std::string iface = is_amd ? targets[0].iface : "";
  if (iface == "PCI" || iface == "USB") {
    opened->own_kernel = or_throw(
        iface == "PCI" ? PciKernel::open(os::host_files(), os::host_clock())
                       : PciKernel::open_usb(os::host_files(), os::host_usb(), os::host_clock()));
    opened->kernel = opened->own_kernel.get();
    return;
  }
  if (iface != "EMUPCI" && iface != "EMUUSB")
    throw fail(ErrorKind::Invalid,
               "--device is {}, expected PCI+AMD, USB+AMD, EMUPCI+AMD or EMUUSB+AMD",
               options.device);
  const auto door = iface == "EMUPCI" ? runtime::EmulatedDoor::Pci : runtime::EmulatedDoor::Usb;
  const auto config = or_throw(runtime::read_environment(runtime::process_environment()));
  const auto settings =
      or_throw(read_settings<runtime::EmulatorSettings>(runtime::setting_values(config)));
  opened->emulated = or_throw(runtime::open_emulated_amd(settings, targets[0].arch, door));
  opened->kernel = opened->emulated->pci();
  opened->kfd = opened->emulated->kfd();
}

Opened open_gpu(const Options& options) {
  Opened opened;
  open_kernel(options, &opened);
  if (options.start) {
    if (opened.kfd == nullptr)
      opened.kfd = or_throw(amd::Kfd::open(*opened.kernel, os::host_clock()));
    core::DeviceSpec spec;
    spec.name = fmt::format("AMD:{}", options.gpu);
    spec.ordinal = static_cast<int>(options.gpu);
    opened.device = or_throw(amd::AmdDevice::open(spec, opened.kfd, {.report_waves = false}));
    or_throw(opened.device->synchronize());
  }
  opened.viewed = or_throw(opened.kernel->view(options.gpu));
  return opened;
}

// By its name on any chip.
Reg find_register(const std::string& name) {
  for (const amd::hw::RegisterPlaces& places : amd::hw::kRegisterPlaces) {
    const auto found = std::ranges::find(places, name, &amd::hw::RegisterPlace::name);
    if (found == places.end()) continue;
    const Reg reg = static_cast<Reg>(found - places.begin());
    if (amd::hw::is_of_a_queue(reg))
      throw fail(ErrorKind::Invalid, "{} is a queue's: doorbell amd dump has it for each", name);
    return reg;
  }
  throw fail(ErrorKind::NotFound, "no register {}: doorbell amd registers lists those known", name);
}

void print(const OrderedJson& json, const Options& options) {
  fmt::print("{}", options.json ? json.dump(2) + "\n" : to_text(json));
}

// A line, or an object, for each change.
void watch(const Opened& opened, const std::vector<Reg>& registers, const Options& options) {
  os::Clock& clock = os::host_clock();
  const u64 begin = clock.now_ns(), end = begin + options.watch_ms * 1'000'000;
  OrderedJson before = view_registers(opened.view(), registers);
  print(before, options);
  for (u32 turn = 0; clock.now_ns() < end; ++turn) {
    const OrderedJson now = view_registers(opened.view(), registers);
    OrderedJson changed = OrderedJson::object();
    for (const auto& [name, value] : now.items())
      if (value != before[name]) changed[name] = value;
    if (!changed.empty()) {
      changed["at_ms"] = (clock.now_ns() - begin) / 1'000'000;
      print(changed, options);
      std::fflush(stdout);
      before = now;
    }
    clock.relax(turn);
  }
}

int run_registers(const Options& options) {
  const usize equals = options.assignment.find('=');
  if (!options.assignment.empty() && equals == std::string::npos)
    throw fail(ErrorKind::Invalid, "--set is '{}', expected NAME=VALUE", options.assignment);
  if (!options.assignment.empty() && !options.yes)
    throw fail(ErrorKind::Invalid,
               "--set writes to the GPU, which may hang it, and the machine: say --yes");
  std::vector<Reg> registers;
  for (const std::string& name : options.names) registers.push_back(find_register(name));
  if (registers.empty() && options.assignment.empty()) registers = plain_registers();
  std::optional<std::pair<Reg, u32>> written;
  if (!options.assignment.empty()) {
    const std::string text = options.assignment.substr(equals + 1);
    u32 value = 0;
    if (!CLI::detail::lexical_cast(text, value))
      throw fail(ErrorKind::Invalid, "the value is '{}', expected a number of 32 bits", text);
    written = {find_register(options.assignment.substr(0, equals)), value};
    if (std::ranges::find(registers, written->first) == registers.end())
      registers.push_back(written->first);
  }
  const Opened opened = open_gpu(options);
  if (written) opened.viewed.gpu->look().registers.write(written->first, written->second);
  if (options.watch_ms != 0)
    watch(opened, registers, options);
  else
    print(view_registers(opened.view(), registers), options);
  return 0;
}

int run_unbind(const std::string& address, bool yes) {
  os::Files& files = os::host_files();
  const std::string driver = or_throw(os::driver_of_pci(files, address));
  if (!driver.empty() && !yes)
    throw fail(ErrorKind::Invalid,
               "the kernel's {} has PCI device {}, and what it does for others, a screen perhaps, "
               "ends: say --yes",
               driver, address);
  fmt::print("{} is taken from the kernel's {}\n", address,
             or_throw(os::unbind_pci(files, address)));
  return 0;
}

CLI::App* add_command(CLI::App* amd, const char* name, const char* what, Options* options) {
  CLI::App* command = amd->add_subcommand(name, what);
  command
      ->add_option(
          "--device", options->device,
          "PCI+AMD, GPUs without a kernel driver (default), USB+AMD, EMUPCI+AMD or EMUUSB+AMD")
      ->option_text("DEV");
  command->add_option("--gpu", options->gpu, "Which one, 0 by default")->option_text("N");
  command->add_flag("--start", options->start,
                    "Start it first, and put queues on it; else it is looked at as it is");
  command->add_flag("--json", options->json, "Print JSON");
  return command;
}

// A command that prints one view.
template <class View>
CLI::App* add_view(CLI::App* amd, const char* name, const char* what, int* status,
                   std::shared_ptr<Options> options, View view) {
  CLI::App* command = add_command(amd, name, what, options.get());
  command->callback([options, status, view] {
    const Opened opened = open_gpu(*options);
    print(view(opened.view(), *options), *options);
    *status = 0;
  });
  return command;
}

}  // namespace

void add_amd_bare(CLI::App* amd, int* status) {
  auto options = std::make_shared<Options>();  // each owned by the parser and a callback
  CLI::App* registers = add_command(
      amd, "registers", "Print registers that starting a GPU takes, by name, write or watch them",
      options.get());
  registers->add_option("names", options->names, "As the vendor has them: IH_RB_CNTL")
      ->option_text("NAME...");
  registers->add_option("--set", options->assignment, "Write one first")->option_text("NAME=VALUE");
  registers->add_flag("--yes", options->yes, "Really write");
  registers->add_option("--watch", options->watch_ms, "Print what changes, for so long")
      ->option_text("MS");
  registers->callback([options, status] { *status = run_registers(*options); });

  options = std::make_shared<Options>();
  CLI::App* walk = add_view(
      amd, "walk", "Print an address's page table entries, bit by bit", status, options,
      [](const BareGpuView& view, const Options& asked) { return view_walk(view, asked.address); });
  walk->add_option("address", options->address, "A GPU address")
      ->required()
      ->option_text("ADDRESS");

  options = std::make_shared<Options>();
  CLI::App* rings = add_view(
      amd, "rings", "Print queues on the hardware, their pointers and the packets not yet read",
      status, options, [](const BareGpuView& view, const Options& asked) {
        return view_rings(view, asked.from_start);
      });
  rings->add_flag("--all", options->from_start, "The packets from each ring's beginning on");

  options = std::make_shared<Options>();
  CLI::App* interrupts =
      add_view(amd, "interrupts", "Print interrupts that wait, and the last ones", status, options,
               [](const BareGpuView& view, const Options& asked) {
                 return view_interrupts(view, asked.taken);
               });
  interrupts->add_option("--last", options->taken, "How many that were taken, 16 by default")
      ->option_text("N");

  options = std::make_shared<Options>();
  CLI::App* firmware = add_view(
      amd, "firmware", "Print versions of firmware files, and what runs of it", status, options,
      [](const BareGpuView& view, const Options& asked) { return view_firmware(view, asked.yes); });
  firmware->add_flag("--ask", options->yes, "Also ask the power controller for its version");

  options = std::make_shared<Options>();
  CLI::App* unbind =
      amd->add_subcommand("unbind", "Take a PCI device from the kernel's driver, which ends there");
  unbind->add_option("address", options->pci_address, "0000:03:00.0")
      ->required()
      ->option_text("ADDRESS");
  unbind->add_flag("--yes", options->yes, "Really take it");
  unbind->callback([options, status] { *status = run_unbind(options->pci_address, options->yes); });

  options = std::make_shared<Options>();
  CLI::App* dump = add_view(
      amd, "dump", "Print all of that, for a bug report", status, options,
      [](const BareGpuView& view, const Options& asked) { return view_all(view, asked.yes); });
  dump->add_flag("--ask", options->yes, "Also ask the power controller for its version");
}

}  // namespace doorbell::tools
