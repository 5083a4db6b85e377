// Objects: which classes there are, below which parents, with which parameters; and their end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "drivers/nv/hw/host/user_control.h"
#include "emulator/nv/rm/rm.h"

namespace doorbell::emu::nvgpu {

namespace {

// What objects of a class are, and below what: a bit for each kind.
// [okm src/nvidia/src/kernel/rmapi/resource_list.h]
struct ClassRow {
  u32 class_id;
  ObjectKind kind;
  u32 parents;
};
constexpr u32 below(ObjectKind kind) { return 1u << static_cast<u32>(kind); }
constexpr u32 kBelowAny = below(ObjectKind::Client) | below(ObjectKind::Device) |
                          below(ObjectKind::Subdevice) | below(ObjectKind::Channel);
constexpr ClassRow kClasses[] = {
    {hw::DeviceParameters::kClass, ObjectKind::Device, below(ObjectKind::Client)},
    {hw::SubdeviceParameters::kClass, ObjectKind::Subdevice, below(ObjectKind::Device)},
    {hw::VirtualMemoryParameters::kClass, ObjectKind::VirtualMemory, below(ObjectKind::Device)},
    {hw::kMemorySystem, ObjectKind::Memory, below(ObjectKind::Device)},
    {hw::kMemoryLocalUser, ObjectKind::Memory, below(ObjectKind::Device)},
    {hw::kMemorySystemOsDescriptor, ObjectKind::Memory, below(ObjectKind::Device)},
    {hw::VaSpaceParameters::kClass, ObjectKind::VaSpace, below(ObjectKind::Device)},
    {hw::ChannelGroupParameters::kClass, ObjectKind::ChannelGroup, below(ObjectKind::Device)},
    {hw::ContextShareParameters::kClass, ObjectKind::ContextShare, below(ObjectKind::ChannelGroup)},
    {hw::DebuggerParameters::kClass, ObjectKind::Debugger, below(ObjectKind::Device)},
    {0x0005, ObjectKind::Event, kBelowAny},  // NV01_EVENT
    {hw::kEventOsEvent, ObjectKind::Event, kBelowAny},
};

std::optional<ClassRow> find_class(u32 class_id) {
  for (const ClassRow& row : kClasses)
    if (row.class_id == class_id) return row;
  switch (hw::kind_of(static_cast<hw::ClassId>(class_id))) {
    case hw::ClassKind::Usermode:
      return ClassRow{class_id, ObjectKind::Usermode, below(ObjectKind::Subdevice)};
    case hw::ClassKind::Channel:
      return ClassRow{class_id, ObjectKind::Channel,
                      below(ObjectKind::ChannelGroup) | below(ObjectKind::Device)};
    case hw::ClassKind::Compute:
    case hw::ClassKind::Copy:
      return ClassRow{class_id, ObjectKind::Engine, below(ObjectKind::Channel)};
    default: return std::nullopt;
  }
}

// Classes that every GPU has are in no list of classes.
bool has_class(const Model& model, u32 class_id) {
  return class_id < 0x3000 || std::ranges::find(model.classes, class_id) != model.classes.end();
}

}  // namespace

nvgpu::Client* Rm::find_client(u32 handle, std::string_view call) {
  const auto found = clients_.find(handle);
  if (found != clients_.end()) return &found->second;
  checks().report(kRmHandle, fmt::format("{}: there is no client {:#x}", call, handle));
  return nullptr;
}

Object* Rm::find(u32 client, u32 handle, ObjectKind kind, std::string_view call) {
  auto* owner = find_client(client, call);
  if (owner == nullptr) return nullptr;
  Object* object = owner->find(handle);
  if (object != nullptr && object->kind == kind) return object;
  checks().report(kRmHandle, object == nullptr
                                 ? fmt::format("{}: there is no object {:#x}", call, handle)
                                 : fmt::format("{}: {:#x} is a {}, not a {}", call, handle,
                                               name_of(object->kind), name_of(kind)));
  return nullptr;
}

u32 Rm::alloc_client(OpenFile& file, hw::RmAlloc& given) {
  const u32 handle = given.object_new != 0 ? given.object_new : next_client_++;
  if (file.kind != NodeKind::Control)
    return refuse(RmStatus::InvalidArgument, kRmCall, "clients are made through /dev/nvidiactl");
  if (clients_.contains(handle))
    return refuse(RmStatus::InsertDuplicateName, kRmNewHandle,
                  fmt::format("RM_ALLOC: there is a client {:#x}", handle));
  auto& client = clients_[handle];
  client.handle = handle;
  Object object;
  object.handle = handle;
  object.class_id = given.class_id;
  client.objects[handle] = std::move(object);
  file.clients.push_back(handle);
  given.object_new = handle;
  return 0;
}

Object* Rm::add(nvgpu::Client& client, Object object, u32 handle) {
  while (handle == 0 || (handle == client.next_handle && client.objects.contains(handle)))
    handle = client.next_handle++;
  if (client.objects.contains(handle)) {
    checks().report(kRmNewHandle, fmt::format("the handle {:#x} is in use", handle));
    return nullptr;
  }
  object.handle = handle;
  client.objects.at(object.parent).children.push_back(handle);
  return &(client.objects[handle] = std::move(object));
}

u32 Rm::alloc(OpenFile& file, hw::RmAlloc& given) {
  // [okm src/nvidia/src/kernel/rmapi/param_copy.c rmapiParamsAcquire()]
  if (given.params == 0 && given.params_size != 0)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of class {:#x}: {} bytes of parameters at 0",
                              given.class_id, given.params_size));
  if (given.class_id == hw::kRootClient || given.class_id == 0) return alloc_client(file, given);
  auto* client = find_client(given.root, "RM_ALLOC");
  if (client == nullptr) return static_cast<u32>(RmStatus::InvalidClient);
  const Object* parent = client->find(given.object_parent);
  if (parent == nullptr)
    return refuse(RmStatus::InvalidObjectParent, kRmHandle,
                  fmt::format("RM_ALLOC of class {:#x}: there is no parent {:#x}", given.class_id,
                              given.object_parent));
  const std::optional<ClassRow> row = find_class(given.class_id);
  if (!row ||
      (parent->kind != ObjectKind::Client && !has_class(gpu(parent->gpu).model(), given.class_id)))
    return refuse(RmStatus::InvalidClass, kRmClass,
                  fmt::format("RM_ALLOC: class {:#06x} is not one of the GPU's, or not emulated",
                              given.class_id));
  if ((row->parents & below(parent->kind)) == 0)
    return refuse(RmStatus::InvalidObjectParent, kRmClass,
                  fmt::format("RM_ALLOC: a {} of class {:#06x} below a {}", name_of(row->kind),
                              given.class_id, name_of(parent->kind)));
  Object object;
  object.parent = given.object_parent;
  object.class_id = given.class_id;
  object.kind = row->kind;
  object.gpu = parent->gpu;
  if (const u32 status = fill(object, *client, given); status != 0) return status;
  const Object* made = add(*client, std::move(object), given.object_new);
  if (made == nullptr) return static_cast<u32>(RmStatus::InsertDuplicateName);
  if (made->kind == ObjectKind::Channel) gpu(made->gpu).add_channel(made->channel);
  if (!made->interrupt_file.expired())
    interrupt_events_.push_back({given.root, made->handle, made->gpu, made->interrupt_file});
  given.object_new = made->handle;
  return 0;
}

u32 Rm::fill(Object& object, nvgpu::Client& client, const hw::RmAlloc& given) {
  switch (object.kind) {
    case ObjectKind::Device: return fill_device(object, given);
    case ObjectKind::Subdevice: return fill_subdevice(given);
    case ObjectKind::Memory:
      return object.class_id == hw::kMemorySystemOsDescriptor ? fill_os_descriptor(object, given)
                                                              : fill_memory(object, given);
    case ObjectKind::Usermode: return fill_usermode(object, given);
    case ObjectKind::VaSpace: return fill_va_space(object, given);
    case ObjectKind::ChannelGroup: return fill_group(object, client, given);
    case ObjectKind::ContextShare: return fill_context_share(object, client, given);
    case ObjectKind::Channel: return fill_channel(object, client, given);
    case ObjectKind::Debugger: return fill_debugger(object, client, given);
    case ObjectKind::Event: return fill_event(object, client, given);
    case ObjectKind::Engine:
      object.channel = client.find(object.parent)->channel;
      object.channel->classes.insert(static_cast<hw::ClassId>(object.class_id));
      return 0;
    default: return 0;
  }
}

// Classes before Hopper's take no parameters.
u32 Rm::fill_usermode(Object& object, const hw::RmAlloc& given) {
  object.memory = gpu(object.gpu).usermode();
  if (given.params == 0) return 0;
  hw::HopperUsermodeParameters parameters;
  return read(given, &parameters);
}

// [okm src/nvidia/src/kernel/gpu/device/device.c deviceConstruct_IMPL(): hClientShare]
u32 Rm::fill_device(Object& object, const hw::RmAlloc& given) {
  hw::DeviceParameters parameters;
  if (given.params != 0)
    if (const u32 status = read(given, &parameters); status != 0) return status;
  if (parameters.device_id >= gpu_count())
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of a device: there is no GPU {}, there are {}",
                              parameters.device_id, gpu_count()));
  if (parameters.client_share != 0 && parameters.client_share != given.root)
    return refuse(RmStatus::NotSupported, kRmValues,
                  fmt::format("RM_ALLOC of a device that shares with client {:#x}: only with its "
                              "own, {:#x}, is emulated",
                              parameters.client_share, given.root));
  object.gpu = parameters.device_id;
  return 0;
}

// [okm src/nvidia/src/kernel/gpu/subdevice/subdevice.c subdeviceConstruct_IMPL()]
u32 Rm::fill_subdevice(const hw::RmAlloc& given) {
  if (given.params == 0) return 0;
  hw::SubdeviceParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  if (parameters.sub_device_id == 0) return 0;
  return refuse(
      RmStatus::InvalidClass, kRmParameters,
      fmt::format("RM_ALLOC of subdevice {}: a device has one", parameters.sub_device_id));
}

// Writes back what RM chose, as it does.
u32 Rm::fill_memory(Object& object, const hw::RmAlloc& given) {
  constexpr u32 kReadOnly = 1u << 22;  // NVOS32_ATTR2_PROTECTION_USER_READ_ONLY
  hw::MemoryParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  const bool is_system = object.class_id == hw::kMemorySystem;
  const bool asks_system = (parameters.attr >> 25 & 3) != 0;
  if (parameters.size == 0 || parameters.size > gpu(object.gpu).model().memory_bytes)
    return refuse(parameters.size == 0 ? RmStatus::InvalidArgument : RmStatus::NoMemory,
                  kRmParameters, fmt::format("RM_ALLOC of {:#x} bytes of memory", parameters.size));
  if (is_system != asks_system)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of class {:#x} with attr {:#x}: the location is the other "
                              "class's",
                              object.class_id, parameters.attr));
  const bool is_range = parameters.limit == 0 || parameters.limit == parameters.size - 1;
  const bool is_owned = parameters.owner == 0 || parameters.owner == given.root;
  if (!is_range || !is_owned || (parameters.alignment & (parameters.alignment - 1)) != 0)
    return refuse(
        RmStatus::InvalidArgument, kRmValues,
        fmt::format("RM_ALLOC of {:#x} bytes of memory for {:#x}, up to {:#x}, aligned "
                    "to {:#x}",
                    parameters.size, parameters.owner, parameters.limit, parameters.alignment));
  auto memory = Memory::allocate(is_system ? Memory::Kind::System : Memory::Kind::Video, object.gpu,
                                 parameters.size, (parameters.attr2 & kReadOnly) != 0);
  if (!memory) return static_cast<u32>(RmStatus::NoMemory);
  object.memory = *memory;
  object.memory->judge_races(options_.races);
  if (options_.poison && !is_system) object.memory->poison();
  parameters.size = object.memory->bytes();
  return copy_record_out(given.params, abi(), parameters)
             ? 0
             : static_cast<u32>(RmStatus::InvalidAddress);
}

u32 Rm::fill_va_space(Object& object, const hw::RmAlloc& given) {
  hw::VaSpaceParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  if ((parameters.flags & hw::VaSpaceParameters::kExternallyOwned) == 0)
    return refuse(RmStatus::NotSupported, kRmParameters,
                  "RM_ALLOC of an address space that RM owns: only those of UVM are emulated");
  // NV_VASPACE_ALLOCATION_INDEX_GPU_NEW; the others are address spaces that exist.
  if (parameters.index != 0)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of the address space of index {}: only new ones are "
                              "emulated",
                              parameters.index));
  constexpr u64 kPage = 0x1000, kMost = u64{1} << 49;
  const u64 base = parameters.va_base, bytes = parameters.va_size;
  if (base % kPage != 0 || bytes % kPage != 0 || base >= kMost || bytes > kMost - base)
    return refuse(RmStatus::InvalidArgument, kRmValues,
                  fmt::format("RM_ALLOC of an address space of {:#x} bytes from {:#x}: the GPU has "
                              "{:#x}, in whole pages",
                              bytes, base, kMost));
  object.va_space = std::make_shared<nvgpu::VaSpace>();
  object.va_space->gpu = object.gpu;
  object.va_space->base = base;
  object.va_space->end = bytes == 0 ? kMost : base + bytes;
  return 0;
}

u32 Rm::fill_group(Object& object, nvgpu::Client& client, const hw::RmAlloc& given) {
  hw::ChannelGroupParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  // [okm kernel_channel_group_api.c kchangrpapiConstruct_IMPL(): RM_ENGINE_TYPE_IS_VALID]
  if (parameters.engine_type != hw::ChannelGroupParameters::kGraphics)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of a channel group of engine {:#x}: it does not exist, or "
                              "is not emulated",
                              parameters.engine_type));
  object.group = std::make_shared<nvgpu::ChannelGroup>();
  if (parameters.va_space == 0) return 0;
  const Object* space =
      find(client.handle, parameters.va_space, ObjectKind::VaSpace, "RM_ALLOC of a channel group");
  if (space == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  object.va_space = space->va_space;
  return 0;
}

u32 Rm::fill_context_share(Object& object, nvgpu::Client& client, const hw::RmAlloc& given) {
  hw::ContextShareParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  const Object* space =
      find(client.handle, parameters.va_space, ObjectKind::VaSpace, "RM_ALLOC of a context share");
  if (space == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  object.va_space = space->va_space;
  object.group = client.find(object.parent)->group;
  return 0;
}

// [okm src/nvidia/src/kernel/gpu/fifo/kernel_channel.c kchannelConstruct_IMPL()]
u32 Rm::fill_channel(Object& object, nvgpu::Client& client, const hw::RmAlloc& given) {
  constexpr std::string_view kCall = "RM_ALLOC of a channel";
  hw::ChannelParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  auto channel = std::make_shared<nvgpu::Channel>();
  const Object& parent = *client.find(object.parent);
  channel->group = parent.group ? parent.group : std::make_shared<nvgpu::ChannelGroup>();
  channel->va_space = parent.va_space;
  for (const auto& [handle, kind] : {std::pair(parameters.context_share, ObjectKind::ContextShare),
                                     std::pair(parameters.va_space, ObjectKind::VaSpace)}) {
    if (handle == 0) continue;
    const Object* space = find(client.handle, handle, kind, kCall);
    if (space == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
    channel->va_space = space->va_space;
  }
  const u32 entries = parameters.gp_fifo_entries;
  const Object* userd = find(client.handle, parameters.userd_memory[0], ObjectKind::Memory, kCall);
  if (userd == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  const u64 at = parameters.userd_offset[0];
  std::string_view why;
  if (!channel->va_space) why = "it has no address space";
  if (entries == 0 || (entries & (entries - 1)) != 0) why = "the entries are no power of two";
  if (parameters.gp_fifo_offset % 8 != 0) why = "the ring is not aligned to 8 bytes";
  if (at % hw::kUserdBytes != 0 || at + hw::kUserdBytes > userd->memory->bytes())
    why = "USERD is not aligned, or beyond its memory";
  if (!why.empty())
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("{}: {} entries at {:#x}, USERD at {:#x}: {}", kCall, entries,
                              parameters.gp_fifo_offset, at, why));
  if (const u32 status = judge_channel(client, parameters); status != 0) return status;
  channel->ring = parameters.gp_fifo_offset;
  channel->entries = entries;
  channel->userd_memory = userd->memory;
  channel->userd_offset = at;
  if (parameters.object_error != 0) {
    const Object* notifier =
        find(client.handle, parameters.object_error, ObjectKind::Memory, kCall);
    if (notifier == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
    channel->notifier = notifier->memory;
  }
  object.channel = channel;
  object.group = channel->group;
  return 0;
}

// Memory of other subdevices does not exist, and the ring's object does.
u32 Rm::judge_channel(nvgpu::Client& client, const hw::ChannelParameters& parameters) {
  if (parameters.object_buffer != 0 && client.find(parameters.object_buffer) == nullptr)
    return refuse(RmStatus::InvalidObjectHandle, kRmHandle,
                  fmt::format("RM_ALLOC of a channel: hObjectBuffer {:#x} is no object",
                              parameters.object_buffer));
  for (usize i = 1; i < hw::ChannelParameters::kMaxSubdevices; ++i)
    if (parameters.userd_memory[i] != 0 || parameters.userd_offset[i] != 0)
      return refuse(RmStatus::NotSupported, kRmValues,
                    fmt::format("RM_ALLOC of a channel: USERD {:#x} of subdevice {}, a device has "
                                "one",
                                parameters.userd_memory[i], i));
  return 0;
}

// Tells of the channel that has the object named.
u32 Rm::fill_debugger(Object& object, nvgpu::Client& client, const hw::RmAlloc& given) {
  hw::DebuggerParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  const Object* engine = find(parameters.app_client, parameters.class3d_object, ObjectKind::Engine,
                              "RM_ALLOC of a debugger");
  if (engine == nullptr || parameters.app_client != client.handle)
    return static_cast<u32>(RmStatus::InvalidObjectHandle);
  object.channel = engine->channel;
  return 0;
}

// [okm src/nvidia/src/kernel/rmapi/event_api.c eventConstruct_IMPL(); event_notification.c
// registerEventNotification()]
u32 Rm::fill_event(Object& object, const nvgpu::Client& client, const hw::RmAlloc& given) {
  hw::EventParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  if (parameters.event_class != hw::kEventOsEvent)
    return refuse(RmStatus::NotSupported, kRmParameters,
                  fmt::format("RM_ALLOC of an event of class {:#x}", parameters.event_class));
  if (parameters.parent_client != 0 && parameters.parent_client != client.handle)
    return refuse(RmStatus::NotSupported, kRmValues,
                  fmt::format("RM_ALLOC of an event of client {:#x} for {:#x}",
                              parameters.parent_client, client.handle));
  const auto file = event_files_.find({client.handle, static_cast<u32>(parameters.data)});
  if (file == event_files_.end() || file->second.expired())
    return refuse(RmStatus::ObjectNotFound, kRmHandle,
                  fmt::format("RM_ALLOC of an event: {} is no file of NV_ESC_ALLOC_OS_EVENT",
                              parameters.data));
  if ((parameters.notify_index & hw::EventParameters::kNonStallInterrupt) == 0) return 0;
  const auto source = client.objects.find(parameters.src_resource);
  if (source == client.objects.end() || source->second.kind != ObjectKind::Subdevice)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of an event of interrupts: {:#x} is no subdevice",
                              parameters.src_resource));
  constexpr u32 kIndex = 0xffff;
  if ((parameters.notify_index & kIndex) != hw::EventParameters::kFifoEvent ||
      (parameters.notify_index & hw::EventParameters::kWithoutData) == 0)
    return refuse(RmStatus::NotSupported, kRmParameters,
                  fmt::format("RM_ALLOC of an event of interrupts {:#x}: only FIFO_EVENT_MTHD "
                              "without data is emulated",
                              parameters.notify_index));
  object.gpu = source->second.gpu;
  object.interrupt_file = file->second;
  return 0;
}

void Rm::interrupt(u32 gpu) {
  for (const InterruptEvent& event : interrupt_events_)
    if (const std::shared_ptr<OpenFile> file = event.file.lock(); event.gpu == gpu && file)
      Nodes::post_event(*file);
}

// ---- the end ------------------------------------------------------------------------------------

bool Rm::is_in_use(const nvgpu::Client& client, const Object& object) const {
  if (object.kind == ObjectKind::Channel)
    return object.channel->group->error == 0 && object.channel->group->scheduled &&
           !object.channel->is_idle();
  if (object.kind != ObjectKind::Memory) return false;
  return std::ranges::any_of(client.objects, [&](const auto& entry) {
    const Object& other = entry.second;
    return other.kind == ObjectKind::Channel && (other.channel->userd_memory == object.memory ||
                                                 other.channel->notifier == object.memory);
  });
}

void Rm::free(nvgpu::Client& client, u32 handle) {
  while (!client.objects.at(handle).children.empty())
    free(client, client.objects.at(handle).children.back());
  const Object& object = client.objects.at(handle);
  if (object.kind == ObjectKind::Channel) gpu(object.gpu).remove_channel(*object.channel);
  if (object.kind == ObjectKind::Event)
    std::erase_if(interrupt_events_, [&](const InterruptEvent& event) {
      return event.client == client.handle && event.object == handle;
    });
  if (Object* parent = client.find(object.parent); parent != nullptr)
    std::erase(parent->children, handle);
  client.objects.erase(handle);
}

// Its names for files go with a client, and a file's names with the file. [okm osapi.c
// rm_client_free_os_events(), RmFreeUnusedClients()]
void Rm::free_client(u32 handle) {
  free(clients_.at(handle), handle);
  clients_.erase(handle);
  std::erase_if(event_files_, [&](const auto& entry) { return entry.first.first == handle; });
}

void Rm::closed(OpenFile& file) {
  for (const u32 handle : file.clients)
    if (clients_.contains(handle)) free_client(handle);
  file.clients.clear();
  std::erase_if(event_files_, [&](const auto& entry) {
    const std::shared_ptr<OpenFile> named = entry.second.lock();
    return !named || named.get() == &file;
  });
}

usize Rm::left() const {
  usize count = 0;
  for (const auto& [handle, client] : clients_) count += client.objects.size() - 1;
  return count;
}

}  // namespace doorbell::emu::nvgpu
