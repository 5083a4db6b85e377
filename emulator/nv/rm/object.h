// RM's objects: the trees of handles of its clients. rm.h allocates and frees them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/nv/host/channel.h"
#include "emulator/nv/rm/memory.h"

namespace doorbell::emu::nvgpu {

struct OpenFile;

enum class ObjectKind : u8 {
  Client,
  Device,
  Subdevice,
  VirtualMemory,
  Memory,
  Usermode,
  VaSpace,
  ChannelGroup,
  ContextShare,
  Channel,
  Engine,  // of a compute or copy class
  Debugger,
  Event,
};
constexpr std::string_view name_of(ObjectKind kind) {
  constexpr std::string_view kNames[] = {
      "client",          "device",        "subdevice",     "virtual memory", "memory",
      "usermode object", "address space", "channel group", "context share",  "channel",
      "engine object",   "debugger",      "event"};
  return kNames[static_cast<usize>(kind)];
}

struct Object {
  u32 handle = 0, parent = 0, class_id = 0;
  ObjectKind kind = ObjectKind::Client;
  u32 gpu = 0;                // below a device
  std::vector<u32> children;  // in order of allocation
  // Depending on the kind; null otherwise.
  std::shared_ptr<Memory> memory;
  std::shared_ptr<VaSpace> va_space;       // of a context share, a group and a channel too
  std::shared_ptr<ChannelGroup> group;     // of a channel too
  std::shared_ptr<Channel> channel;        // of a debugger too
  std::weak_ptr<OpenFile> interrupt_file;  // of an event of non-stall interrupts
};

// The objects of a client; the client itself is one.
struct Client {
  u32 handle = 0;
  std::map<u32, Object> objects;
  u32 next_handle = 0xcaf0'0001;  // where the client leaves the choice to RM

  Object* find(u32 handle) {
    const auto found = objects.find(handle);
    return found == objects.end() ? nullptr : &found->second;
  }
};

}  // namespace doorbell::emu::nvgpu
