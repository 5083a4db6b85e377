// Rm: NVIDIA's resource manager: the ioctls ("escapes") of /dev/nvidiactl and /dev/nvidiaN, the
// objects that they allocate, and the commands that objects take. Page tables are UVM's (uvm/),
// channels run in host/.
//
// Thread safety: none, the machine's mutex guards it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/nv/hw/rm/abi.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/rm/status.h"
#include "emulator/core/checks.h"
#include "emulator/core/user_memory.h"
#include "emulator/nv/host/gpu.h"
#include "emulator/nv/rm/nodes.h"
#include "emulator/nv/rm/object.h"
#include "emulator/nv/rm/values.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

using hw::RmStatus;

// The client's view of a GPU's identity.
std::array<u8, 16> uuid_of(u32 gpu);
u32 gpu_id_of(u32 gpu);

class Rm {
 public:
  struct Options {
    std::string driver;  // version: "580.95.05"
    hw::DriverAbi abi;
    Trace* trace;           // borrowed
    Checks* checks;         // borrowed
    Nodes* nodes;           // borrowed
    bool poison = false;    // fresh video memory has anything in it
    bool replaces = false;  // RM_MAP_MEMORY makes the file one of the memory: preload
    std::vector<std::unique_ptr<Gpu>>* gpus;  // borrowed
    AgentRaces* races = nullptr;              // borrowed; null: not judged
  };
  explicit Rm(Options options) : options_(std::move(options)) {}

  // 0 or an errno; the argument is in the client's memory.
  int escape(OpenFile& file, u32 number, u32 bytes, u64 argument);
  // The file was closed for the last time: frees its clients, and the events that it gets.
  void closed(OpenFile& file);
  // A non-stall interrupt of an engine of this GPU: makes the files of its events ready.
  void interrupt(u32 gpu);
  // How many objects there are, clients not counted.
  usize left() const;

  // "RM_ALLOC hRoot=0xc1d00001 ...": the fields that are not 0, as the call leaves them.
  template <class Record>
  void write_trace(Record record) {
    if (!options_.trace->enabled()) return;
    constexpr int kMost = 12;
    std::string text = Record::kName;
    int left = kMost;
    hw::for_each_field(record, abi(), [&](const char* name, const auto& value, usize) {
      if (value == 0 || left-- <= 0) return;
      text += fmt::format(" {}={:#x}", name, static_cast<u64>(value));
    });
    options_.trace->write({.kind = "ioctl", .text = text});
  }
  hw::DriverAbi abi() const { return options_.abi; }
  Checks& checks() { return *options_.checks; }
  Nodes& nodes() { return *options_.nodes; }
  Gpu& gpu(u32 index) { return *(*options_.gpus)[index]; }
  usize gpu_count() const { return options_.gpus->size(); }
  bool has_client(u32 handle) const { return clients_.contains(handle); }
  // The object, if it is of this kind; else null, which was reported.
  Object* find(u32 client, u32 handle, ObjectKind kind, std::string_view call);

 private:
  template <class Escape>
  int run(OpenFile& file, u32 bytes, u64 argument, u32 (Rm::*run)(OpenFile&, Escape&));
  u32 refuse(RmStatus status, const Check& check, std::string message) {
    checks().report(check, std::move(message));
    return static_cast<u32>(status);
  }
  // A status: whether the record asks for what is emulated.
  template <class Record>
  u32 judge_values(const Record& record) {
    std::string why = refusal_of(record, abi());
    return why.empty() ? 0 : refuse(RmStatus::NotSupported, kRmValues, std::move(why));
  }
  Client* find_client(u32 handle, std::string_view call);

  // ---- escapes.cc: each returns a status
  int card_info(u32 bytes, u64 argument);
  u32 register_fd(OpenFile& file, hw::RegisterFd& given);
  u32 alloc_os_event(OpenFile& file, hw::AllocOsEvent& given);
  u32 free(OpenFile& file, hw::RmFree& given);
  u32 alloc_memory(OpenFile& file, hw::RmAllocMemory& given);
  u32 map_memory(OpenFile& file, hw::RmMapMemory& given);
  u32 unmap_memory(OpenFile& file, hw::RmUnmapMemory& given);
  u32 map_memory_dma(OpenFile& file, hw::RmMapMemoryDma& given);
  u32 unmap_memory_dma(OpenFile& file, hw::RmUnmapMemoryDma& given);

  // ---- dma_bufs.cc
  u32 export_dmabuf(OpenFile& file, hw::ExportDmabuf& given);
  u32 create_dmabuf(const OpenFile& file, hw::ExportDmabuf& given);
  u32 check_exported(const OpenFile& file, const hw::ExportDmabuf& given);
  u32 fill_os_descriptor(Object& object, const hw::RmAlloc& given);

  // ---- alloc.cc
  u32 alloc(OpenFile& file, hw::RmAlloc& given);
  u32 alloc_client(OpenFile& file, hw::RmAlloc& given);
  u32 fill(Object& object, Client& client, const hw::RmAlloc& given);
  u32 fill_usermode(Object& object, const hw::RmAlloc& given);
  u32 fill_device(Object& object, const hw::RmAlloc& given);
  u32 fill_subdevice(const hw::RmAlloc& given);
  u32 fill_memory(Object& object, const hw::RmAlloc& given);
  u32 fill_va_space(Object& object, const hw::RmAlloc& given);
  u32 fill_group(Object& object, Client& client, const hw::RmAlloc& given);
  u32 fill_context_share(Object& object, Client& client, const hw::RmAlloc& given);
  u32 fill_channel(Object& object, Client& client, const hw::RmAlloc& given);
  u32 judge_channel(Client& client, const hw::ChannelParameters& parameters);
  u32 fill_event(Object& object, const Client& client, const hw::RmAlloc& given);
  u32 fill_debugger(Object& object, Client& client, const hw::RmAlloc& given);
  Object* add(Client& client, Object object, u32 handle);
  // Reads the parameters of a class; a status.
  template <class Parameters>
  u32 read(const hw::RmAlloc& given, Parameters* parameters);
  bool is_in_use(const Client& client, const Object& object) const;
  void free(Client& client, u32 handle);
  void free_client(u32 handle);

  // ---- control.cc
  u32 control(OpenFile& file, hw::RmControl& given);
  u32 control(Object& object, const hw::RmControl& given);
  template <class Parameters, class F>
  u32 with(const hw::RmControl& given, const F& f);
  u32 get_build_version(const hw::RmControl& given);
  u32 get_id_info(const hw::RmControl& given);
  u32 get_class_list(const Object& object, const hw::RmControl& given);
  u32 get_gid_info(const Object& object, const hw::RmControl& given);
  u32 get_gr_info(const Object& object, const hw::RmControl& given);
  u32 schedule(const Object& object, const hw::RmControl& given);
  u32 read_sm_errors(const Object& object, const hw::RmControl& given);
  u32 read_mmu_faults(const Object& object, const hw::RmControl& given);

  // An object of a client that has the non-stall interrupts of a GPU posted to a file.
  struct InterruptEvent {
    u32 client, object, gpu;
    std::weak_ptr<OpenFile> file;
  };

  const Options options_;
  std::map<u32, Client> clients_;
  // NV_ESC_ALLOC_OS_EVENT: a client's name for a file, and the file.
  std::map<std::pair<u32, u32>, std::weak_ptr<OpenFile>> event_files_;
  std::vector<InterruptEvent> interrupt_events_;
  u32 next_client_ = 0xc1d0'0001;
};

// Reads a record from the client's memory; false: it is not there.
template <class Record>
bool copy_record_in(u64 user, hw::DriverAbi abi, Record* record) {
  std::vector<std::byte> bytes(hw::packed_size<Record>(abi));
  if (!copy_in(bytes.data(), user, bytes.size())) return false;
  *record = *hw::unpack<Record>(bytes, abi);
  return true;
}
template <class Record>
bool copy_record_out(u64 user, hw::DriverAbi abi, const Record& record) {
  const std::vector<std::byte> bytes = hw::pack(record, abi);
  return copy_out(user, bytes.data(), bytes.size());
}

template <class Parameters>
u32 Rm::read(const hw::RmAlloc& given, Parameters* parameters) {
  const usize size = hw::packed_size<Parameters>(abi());
  if (given.params_size != 0 && given.params_size != size)
    return refuse(
        RmStatus::InvalidParamStruct, kRmParameters,
        fmt::format("RM_ALLOC of class {:#06x}: {} of {} bytes, of release {} it has {}",
                    given.class_id, Parameters::kName, given.params_size, options_.driver, size));
  if (given.params == 0)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of class {:#06x} without parameters", given.class_id));
  if (!copy_record_in(given.params, abi(), parameters))
    return refuse(RmStatus::InvalidAddress, kRmParameters,
                  fmt::format("RM_ALLOC of class {:#06x}: its parameters are not memory of the "
                              "process",
                              given.class_id));
  return judge_values(*parameters);
}

}  // namespace doorbell::emu::nvgpu
