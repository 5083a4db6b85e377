// `doorbell nv probe`: asks NVIDIA's kernel modules what this machine's GPUs are and do, as far as
// calls and mapped memory can tell, for docs/hw/nv.md: each question with its answer, or the
// refusal. It launches nothing. What `doorbell trace --capture` and the conformance suite tell is
// left to them.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/other_calls.h"
#include "drivers/nv/kernel/nvk.h"
#include "drivers/nv/kernel/nvk_channel.h"
#include "drivers/nv/kernel/nvk_gpu.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

using namespace nv;
using nlohmann::json;
using Pair = std::array<u32, 2>;

json answer(const Result<void>& result) {
  return result ? json("works") : json{{"refused", result.error().message}};
}

std::string hex(u64 value) { return fmt::format("{:#x}", value); }

std::vector<u32> class_list(const NvkGpu& gpu) {
  RmClient& client = gpu.nvk().client();
  hw::GetClasslist count;
  if (!client.control(gpu.device(), count)) return {};
  std::vector<u32> classes(count.num_classes);
  hw::GetClasslist list{.num_classes = count.num_classes,
                        .class_list = reinterpret_cast<u64>(classes.data())};
  if (!client.control(gpu.device(), list)) return {};
  return classes;
}

json describe_classes(const std::vector<u32>& classes) {
  json all = json::array(), known = json::object();
  for (const u32 one : classes) {
    all.push_back(hex(one));
    const std::string_view name = hw::name_of(static_cast<hw::ClassId>(one));
    if (!name.empty()) known[hex(one)] = name;
  }
  return {{"numbers", all}, {"known", known}};
}

// One index at a time, because RM refuses the whole list for one that it does not know.
template <class Command>
json describe_facts(const NvkGpu& gpu, u32 indices) {
  json facts = json::object();
  for (u32 index = 0; index < indices; ++index) {
    Pair pair{index, 0};
    Command command;
    command.list_size = 1;
    command.list = reinterpret_cast<u64>(&pair);
    if (gpu.nvk().client().control(gpu.subdevice(), command)) facts[hex(index)] = hex(pair[1]);
  }
  return facts;
}

json describe_card(const hw::CardInfo& card) {
  return {{"pci",
           fmt::format("{:04x}:{:02x}:{:02x}.{}", card.domain, card.bus, card.slot, card.function)},
          {"vendor", hex(card.vendor_id)},
          {"device", hex(card.device_id)},
          {"gpu_id", hex(card.gpu_id)},
          {"registers_bytes", card.reg_size},
          {"video_memory_window_bytes", card.fb_size},
          {"minor_number", card.minor_number}};
}

// The doorbell's page through either window, each of its own object.
Result<void> map_usermode(const NvkGpu& gpu, bool through_bar1) {
  RmClient& client = gpu.nvk().client();
  RmObject object;
  const auto class_id = static_cast<u32>(gpu.classes().usermode);
  if (gpu.classes().usermode >= hw::ClassId::HopperUsermodeA) {
    TRY(object,
        make_object(client, gpu.subdevice(), class_id,
                    hw::HopperUsermodeParameters{.bar1_mapping = through_bar1}, "a doorbell"));
  } else if (through_bar1) {
    return fail(ErrorKind::Unsupported, "the class has no parameters before Hopper");
  } else {
    TRY(object, make_object(client, gpu.subdevice(), class_id, "a doorbell"));
  }
  TRY(std::unique_ptr<os::File> file, client.open_node(gpu.node()));
  hw::RmMapMemory map;
  map.params = {.client = client.handle(),
                .device = gpu.device(),
                .memory = object.handle(),
                .length = hw::kUsermodeBytes};
  map.fd = file->descriptor();
  TRY(client.escape_checked(map, "the doorbell"));
  os::MapRequest request;
  request.size = hw::kUsermodeBytes;
  request.writable = true;
  request.inherited = false;
  TRY(const os::MappedRegisters registers, file->map_registers(request));
  return {};
}

// A channel of a class with the GPU's compute and copy objects in it.
Result<void> make_channel(NvkGpu& gpu, hw::ClassId channel_class) {
  constexpr u32 kEntries = 512;
  constexpr u64 kUserd = kEntries * u64{8};
  RmClient& client = gpu.nvk().client();
  TRY(std::unique_ptr<ChannelGroup> group, ChannelGroup::make(gpu));
  MemoryRequest request{.bytes = kUserd + hw::kUserdBytes,
                        .kind = MemoryKind::VisibleVideo,
                        .low = true,
                        .what = "a ring"};
  TRY(std::unique_ptr<NvkMemory> ring, gpu.allocate(request));
  hw::ChannelParameters parameters{.object_buffer = ring->handle(),
                                   .gp_fifo_offset = ring->address(),
                                   .gp_fifo_entries = kEntries,
                                   .context_share = group->context_share()};
  parameters.userd_memory[0] = ring->handle();
  parameters.userd_offset[0] = kUserd;
  TRY(const RmObject channel, make_object(client, group->handle(), static_cast<u32>(channel_class),
                                          parameters, std::string(hw::name_of(channel_class))));
  for (const hw::ClassId engine : {gpu.classes().compute, gpu.classes().copy}) {
    TRY(const RmObject object, make_object(client, channel.handle(), static_cast<u32>(engine),
                                           std::string(hw::name_of(engine))));
  }
  hw::GetWorkSubmitToken token;
  return client.control(channel.handle(), token);
}

json describe_channels(NvkGpu& gpu, const std::vector<u32>& classes) {
  json made = json::object();
  for (const u32 one : classes) {
    const auto id = static_cast<hw::ClassId>(one);
    if (kind_of(id) == hw::ClassKind::Channel && !hw::name_of(id).empty())
      made[std::string(hw::name_of(id))] = answer(make_channel(gpu, id));
  }
  return made;
}

json describe_memory(NvkGpu& gpu) {
  constexpr std::pair<const char*, MemoryKind> kKinds[] = {
      {"video", MemoryKind::Video},
      {"visible video", MemoryKind::VisibleVideo},
      {"host", MemoryKind::Host},
      {"notifier", MemoryKind::Notifier}};
  json kinds = json::object();
  for (const auto& [name, kind] : kKinds)
    for (const u64 bytes : {u64{4} << 10, u64{64} << 10, u64{2} << 20, u64{64} << 20}) {
      const auto memory =
          gpu.allocate({.bytes = bytes, .kind = kind, .low = true, .what = "a probe"});
      kinds[name][fmt::format("{} KiB", bytes >> 10)] =
          memory ? answer({}) : json{{"refused", memory.error().message}};
    }
  return kinds;
}

// What UVM does with ranges: twice the same, one that overlaps, one that is not a page's multiple.
json describe_uvm(Nvk& nvk) {
  constexpr u64 kPage = 4096, kRange = 16 * kPage;
  json calls = json::object();
  hw::UvmPageableMemAccess pageable;
  if (const Result<void> asked = nvk.uvm().call(pageable); asked)
    calls["pageable memory access"] = pageable.pageable_mem_access;
  else
    calls["pageable memory access"] = answer(asked);
  const Result<u64> base = nvk.reserve(kRange * 4, kRange, true);
  if (!base) return calls;
  std::vector<std::pair<u64, u64>> made;
  const auto create = [&](const char* what, u64 at, u64 bytes) {
    hw::UvmCreateExternalRange range{.base = at, .length = bytes};
    const Result<void> created = nvk.uvm().call(range);
    calls[what] = answer(created);
    if (created) made.emplace_back(at, bytes);
  };
  create("a range", *base, kRange);
  create("the same range again", *base, kRange);
  create("a range that overlaps", *base + kRange / 2, kRange);
  create("a range of one page", *base + kRange * 2, kPage);
  create("a range of half a page", *base + kRange * 3, kPage / 2);
  for (const auto& [at, bytes] : made) {
    hw::UvmFree free{.base = at, .length = bytes};
    (void)nvk.uvm().call(free);  // nothing else could be done about it
  }
  nvk.unreserve(*base);
  return calls;
}

json describe_gpu(Nvk& nvk, usize index) {
  constexpr u32 kGrFacts = 0x40, kFbFacts = 0x40;  // more than the headers of release 610 name
  json one = {{"card", describe_card(nvk.cards()[index])}};
  const Result<NvkGpu*> opened = nvk.gpu(index);
  if (!opened) {
    one["error"] = opened.error().message;
    return one;
  }
  NvkGpu& gpu = **opened;
  const GpuShape& shape = gpu.shape();
  const std::vector<u32> classes = class_list(gpu);
  one["chip"] = shape.chip();
  one["shape"] = {{"sm_version", hex(shape.sm_version)},
                  {"gpcs", shape.gpcs},
                  {"tpcs_per_gpc", shape.tpcs_per_gpc},
                  {"sms_per_tpc", shape.sms_per_tpc},
                  {"warps_per_sm", shape.warps_per_sm}};
  one["chosen"] = {{"usermode", hw::name_of(gpu.classes().usermode)},
                   {"channel", hw::name_of(gpu.classes().channel)},
                   {"compute", hw::name_of(gpu.classes().compute)},
                   {"copy", hw::name_of(gpu.classes().copy)}};
  one["classes"] = describe_classes(classes);
  one["graphics"] = describe_facts<hw::GetGrInfo>(gpu, kGrFacts);
  one["memory"] = describe_facts<hw::GetFbInfo>(gpu, kFbFacts);
  one["allocations"] = describe_memory(gpu);
  one["doorbell"] = {{"BAR0", answer(map_usermode(gpu, false))},
                     {"BAR1", answer(map_usermode(gpu, true))}};
  one["channels"] = describe_channels(gpu, classes);
  return one;
}

json probe() {
  os::Files& files = os::host_files();
  const std::unique_ptr<Nvk> nvk = or_throw(Nvk::open(files));
  const Result<std::string> version = os::read_text(files, "/proc/driver/nvidia/version");
  json all = {{"driver", nvk->client().version()},
              {"version_file", version ? *version : version.error().message},
              {"gpus", json::array()}};
  for (usize i = 0; i < nvk->cards().size(); ++i) all["gpus"].push_back(describe_gpu(*nvk, i));
  all["uvm"] = describe_uvm(*nvk);  // behind a GPU's registration
  return all;
}

int run(bool as_json) {
  const json all = probe();
  if (as_json) {
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  const json flat = all.flatten();
  for (const auto& [path, value] : flat.items())
    fmt::print("{}: {}\n", path.substr(1),
               value.is_string() ? value.get<std::string>() : value.dump());
  return 0;
}

}  // namespace

void add_nv(CLI::App* app, int* status) {
  CLI::App* nv = app->add_subcommand("nv", "Look at NVIDIA's GPUs");
  nv->require_subcommand(1);
  CLI::App* command = nv->add_subcommand(
      "probe", "Ask NVIDIA's kernel modules what this machine's GPUs are and do");
  auto json = std::make_shared<bool>(false);  // owned by the parser and the callback
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, status] { *status = run(*json); });
}

}  // namespace doorbell::tools
