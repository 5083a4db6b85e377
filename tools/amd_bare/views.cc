// Names of fields are the vendor's, other names of what is shown are ours.
#include "tools/amd_bare/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/words.h"
#include "drivers/amd/hw/bare/register_fields.h"
#include "drivers/amd/hw/stream/stream.h"
#include "drivers/amd/kernel/pci/firmware_files.h"

namespace doorbell::tools {

using amd::hw::Reg;

namespace {

constexpr u32 kPipeQueues = 8;  // of the first pipe: those above the driver's are others' work

OrderedJson to_json(const std::vector<amd::hw::NamedField>& fields) {
  OrderedJson json = OrderedJson::object();
  for (const amd::hw::NamedField& field : fields) json[std::string(field.name)] = field.value;
  return json;
}

const amd::hw::IpVersion& graphics_version(const BareGpuView& view) {
  return view.gpu.discovery().find(amd::hw::Block::Gc)->version;
}

amd::hw::BareChip chip_of(const BareGpuView& view) { return *view.gpu.discovery().chip(); }

amd::HostByte host_of(const BareGpuView& view) {
  return [kernel = &view.kernel](u64 address) { return kernel->host_byte(address); };
}

amd::hw::Generation generation_of(const BareGpuView& view) {
  switch (chip_of(view)) {
    case amd::hw::BareChip::Gc11: return *amd::hw::generation_of("gfx1100");
    case amd::hw::BareChip::Gc12: return *amd::hw::generation_of("gfx1201");
    case amd::hw::BareChip::Gc94: break;
  }
  return *amd::hw::generation_of("gfx942");
}

OrderedJson packets_of(const std::vector<u32>& words, amd::hw::StreamKind kind,
                       const amd::BareView& view, amd::hw::Generation generation,
                       const amd::HostByte& host) {
  OrderedJson packets = OrderedJson::array();
  const ReadWords memory = [&](u64 address, u32 count) -> std::optional<std::vector<u32>> {
    const auto bytes = amd::read_memory(view, address, u64{count} * sizeof(u32), host);
    if (!bytes) return std::nullopt;
    return words_of(std::as_bytes(std::span(*bytes)));
  };
  amd::hw::walk_stream(kind, generation, words, memory, [&](const StreamPacket& packet, int depth) {
    packets.push_back(indented_text(packet, depth));
  });
  return packets;
}

OrderedJson view_ring(const BareGpuView& view, const amd::BareView& bare,
                      const amd::QueueView& queue, bool from_start) {
  const amd::HostByte host = host_of(view);
  amd::RingView ring = amd::read_ring(bare, queue, host);
  constexpr const char* kKinds[] = {"pm4", "sdma", "aql"};
  OrderedJson json = {{"kind", kKinds[static_cast<usize>(queue.kind)]},
                      {"doorbell", queue.doorbell},
                      {"doorbell_on", queue.has_doorbell},
                      {"ring", queue.ring},
                      {"ring_bytes", queue.ring_bytes},
                      {"read_pointer_at", queue.read_pointer_at},
                      {"write_pointer_at", queue.write_pointer_at},
                      {"read_register", queue.read_register},
                      {"write_register", queue.write_register},
                      {"pointers_by", ring.is_by_memory ? "memory" : "registers"},
                      {"read_word", ring.read},
                      {"write_word", ring.write}};
  if (queue.kind != amd::hw::StreamKind::Sdma) {
    json["end_of_pipe"] = queue.eop;
    json["descriptor"] = queue.descriptor;
  }
  if (!ring.unread) {
    json["unread"] = "the ring is in memory that cannot be read from here";
    return json;
  }
  json["unread_words"] = ring.unread->size();
  std::vector<u32> words = *ring.unread;
  if (from_start)
    if (const auto bytes = amd::read_memory(bare, queue.ring, ring.write * sizeof(u32), host))
      words = words_of(std::as_bytes(std::span(*bytes)));
  json["packets"] = packets_of(words, queue.kind, bare, generation_of(view), host);
  return json;
}

OrderedJson to_json(const std::vector<amd::hw::InterruptEntry>& entries) {
  OrderedJson all = OrderedJson::array();
  for (const amd::hw::InterruptEntry& entry : entries) {
    OrderedJson one;
    amd::hw::InterruptEntry::fields(entry, [&](const char* name, Bits, const auto& value) {
      one[name] = static_cast<u64>(value);
    });
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::vector<Reg> plain_registers() {
  std::vector<Reg> registers;
  for (usize i = 0; i < amd::hw::kRegisters; ++i) {
    const Reg reg = static_cast<Reg>(i);
    if (!amd::hw::changes_when_read(reg) && !amd::hw::is_of_a_queue(reg)) registers.push_back(reg);
  }
  return registers;
}

OrderedJson view_registers(const BareGpuView& view, const std::vector<Reg>& registers) {
  const amd::PciGpu::Look look = view.gpu.look();
  OrderedJson json = OrderedJson::object();
  for (const Reg reg : registers) {
    if (!look.registers.has(reg)) continue;
    const amd::hw::RegisterPlace& place = amd::hw::place_of(reg, chip_of(view));
    const u32 value = look.registers.read(reg);
    OrderedJson& one = json[std::string(place.name)];
    one = {{"block", amd::hw::name_of(place.block)}, {"value", value}};
    if (OrderedJson fields = to_json(amd::hw::register_fields(reg, value, chip_of(view)));
        !fields.empty())
      one["fields"] = std::move(fields);
  }
  return json;
}

OrderedJson view_walk(const BareGpuView& view, u64 address) {
  const amd::PciGpu::Look look = view.gpu.look();
  const amd::PageWalk walk = amd::walk_pages(look.view(), address);
  OrderedJson steps = OrderedJson::array();
  for (const amd::WalkStep& step : walk.steps)
    steps.push_back({{"level", step.level},
                     {"table", step.table},
                     {"index", step.index},
                     {"entry", step.bits},
                     {"fields", to_json(amd::hw::page_entry_fields(step.bits, chip_of(view)))},
                     {"reserved", step.bits & amd::hw::reserved_page_bits(chip_of(view))}});
  OrderedJson json = {{"address", address}, {"steps", std::move(steps)}};
  if (walk.target)
    json["leads_to"] = {{"memory", walk.target->is_system ? "bus" : "GPU"},
                        {"address", walk.target->address},
                        {"page_bytes", walk.target->page_bytes}};
  else
    json["leads_to"] = fmt::format("nowhere: {}", walk.ends);
  return json;
}

OrderedJson view_rings(const BareGpuView& view, bool from_start) {
  const amd::PciGpu::Look look = view.gpu.look();
  OrderedJson json = OrderedJson::object();
  // Nothing can be selected, and nothing is on it.
  if (!amd::read_firmware_state(look.registers, false).has_started_graphics) return json;
  for (u32 i = 0; i < kPipeQueues; ++i)
    if (const auto queue = amd::read_compute_queue(look.registers, i); queue.is_active)
      json[fmt::format("compute {}", i)] = view_ring(view, look.view(), queue, from_start);
  if (const auto queue = amd::read_copy_queue(look.registers); queue.is_active)
    json["copy 0"] = view_ring(view, look.view(), queue, from_start);
  return json;
}

OrderedJson view_interrupts(const BareGpuView& view, usize most_taken) {
  const amd::PciGpu::Look look = view.gpu.look();
  const amd::InterruptsView all = amd::read_interrupts(look.view(), most_taken);
  return {
      {"enabled", all.is_enabled},       {"lost_some", all.has_lost},  {"ring", all.ring},
      {"ring_bytes", all.ring_bytes},    {"read_pointer", all.read},   {"write_pointer", all.write},
      {"waiting", to_json(all.waiting)}, {"taken", to_json(all.taken)}};
}

OrderedJson view_firmware(const BareGpuView& view, bool asks) {
  OrderedJson files = OrderedJson::object();
  const Result<amd::Firmware> firmware = view.kernel.firmware_of(view.gpu);
  if (firmware)
    for (const amd::Firmware::Version& file : firmware->versions)
      files[file.name] = fmt::format("{:#x}", file.version);
  const amd::PciGpu::Look look = view.gpu.look();
  const amd::FirmwareState state = amd::read_firmware_state(look.registers, asks);
  OrderedJson json = {{"security_processor", state.is_psp_alive ? "alive" : "boot loader"},
                      {"security_processor_ring", state.has_psp_ring},
                      {"graphics_core_started", state.has_started_graphics},
                      {"compute_processor_runs", state.is_compute_running},
                      {"copy_engine_runs", state.is_copy_running},
                      {"started_by", state.owner},
                      {"queues_or_fault", state.live != 0}};
  if (state.power_version) json["power_controller_version"] = *state.power_version;
  json["files"] = firmware ? files : OrderedJson(firmware.error().message);
  return json;
}

OrderedJson view_all(const BareGpuView& view, bool asks) {
  const Result<u16> command = view.gpu.command_word();
  OrderedJson json = {{"graphics_core", to_string(graphics_version(view))},
                      {"memory_bytes", view.gpu.vram_bytes()}};
  if (command) json["pci_command"] = *command;
  json["firmware"] = view_firmware(view, asks);
  json["rings"] = view_rings(view, false);
  constexpr usize kLast = 16;
  json["interrupts"] = view_interrupts(view, kLast);
  json["registers"] = view_registers(view, plain_registers());
  OrderedJson queues = OrderedJson::object();
  const amd::PciGpu::Look look = view.gpu.look();
  const bool is_started = amd::read_firmware_state(look.registers, false).has_started_graphics;
  for (u32 i = 0; is_started && i < amd::PciGpu::kComputeQueues; ++i)
    queues[fmt::format("compute {}", i)] = amd::read_queue_registers(look.registers, i);
  json["queue_registers"] = std::move(queues);
  return json;
}

// ---- text ---------------------------------------------------------------------------------------

namespace {

std::string scalar_text(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) {
    const u64 number = value.get<u64>();
    return number > 9 ? fmt::format("{:#x}", number) : fmt::format("{}", number);
  }
  return value.dump();
}

// Of objects whose members are scalars, or such objects: all in one line.
std::string line_text(const OrderedJson& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    const std::string one = value.is_object() ? "(" + line_text(value) + ")" : scalar_text(value);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, one);
  }
  return text;
}

// Of scalars, and of objects that have nothing else.
bool is_short(const OrderedJson& object) {
  return std::ranges::all_of(object, [](const OrderedJson& member) {
    return member.is_primitive() ||
           (member.is_object() && !member.empty() &&
            std::ranges::all_of(member, [](const auto& inner) { return inner.is_primitive(); }));
  });
}

void append_text(const OrderedJson& json, usize indent, std::string* text) {
  const bool is_list = json.is_array();
  for (const auto& [name, value] : json.items()) {
    const std::string start =
        std::string(indent, ' ') + (is_list ? std::string() : std::string(name));
    const bool is_line = value.is_object() && value.size() <= 8 && is_short(value);
    if (value.is_primitive())
      *text += fmt::format("{}{}{}\n", start, is_list ? "" : "  ", scalar_text(value));
    else if (is_line)
      *text += fmt::format("{}{}{}\n", start, is_list ? "" : "  ", line_text(value));
    else if (value.empty())
      *text += start + "  none\n";
    else {
      *text += start + ":\n";
      append_text(value, indent + 2, text);
    }
  }
}

}  // namespace

std::string to_text(const OrderedJson& json) {
  std::string text;
  append_text(json, 0, &text);
  return text.empty() ? "none\n" : text;
}

}  // namespace doorbell::tools
