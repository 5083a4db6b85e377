// The records of calls, by their numbers.
#include "tools/trace/nv_call.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/uvm/ioctl.h"

namespace doorbell::tools {

using namespace nv::hw;

namespace {

// What unknown parameters are shown of.
constexpr usize kMostBytes = 512;

template <class... Records>
struct List {};

using Escapes = List<RegisterFd, AllocOsEvent, ExportDmabuf, RmFree, RmControl, RmAllocMemory,
                     RmMapMemory, RmUnmapMemory, RmMapMemoryDma, RmUnmapMemoryDma>;
using Commands = List<GetBuildVersion, GetIdInfo, GetClasslist, GetGidInfo, GetGrInfo,
                      GetWorkSubmitToken, GpfifoSchedule, PerfBoost, FlushGpuCache>;
using Classes = List<DeviceParameters, SubdeviceParameters, VaSpaceParameters,
                     ChannelGroupParameters, ContextShareParameters, DebuggerParameters,
                     VirtualMemoryParameters, OsDescriptorParameters>;
using UvmCalls = List<UvmInitialize, UvmMmInitialize, UvmRegisterGpu, UvmUnregisterGpu,
                      UvmRegisterGpuVaSpace, UvmUnregisterGpuVaSpace, UvmRegisterChannel,
                      UvmUnregisterChannel, UvmCreateExternalRange, UvmMapExternalAllocation,
                      UvmUnmapExternal, UvmFree, UvmEnablePeerAccess, UvmDisablePeerAccess>;

void add_bytes(std::span<const std::byte> bytes, std::string* text) {
  *text += fmt::format(" {} bytes", bytes.size());
  if (bytes.empty()) return;
  *text += ' ';
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMostBytes)))
    *text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  if (bytes.size() > kMostBytes) *text += "...";
}

// A field that is an array of bytes: text where it is printable up to a zero, else hex.
class ByteArray {
 public:
  void add(std::string_view name, u8 value, std::string* text) {
    if (name != name_) end(text);
    name_ = name;
    bytes_ += static_cast<char>(value);
  }
  void end(std::string* text) {
    const usize length = bytes_.find_last_not_of('\0') + 1;
    const std::string_view used = std::string_view(bytes_).substr(0, length);
    const bool printable =
        length > 1 && std::ranges::all_of(used, [](char c) { return c >= ' ' && c <= '~'; });
    if (printable) {
      *text += fmt::format(" {}='{}'", name_, used);
    } else if (length > 0) {
      *text += fmt::format(" {}=0x", name_);
      for (const char byte : used) *text += fmt::format("{:02x}", static_cast<u8>(byte));
    }
    bytes_.clear();
    name_ = {};
  }

 private:
  std::string_view name_;
  std::string bytes_;
};

template <class Record>
void add_fields(std::span<const std::byte> bytes, DriverAbi abi, std::string* text) {
  Result<Record> record = unpack<Record>(bytes, abi);
  *text += fmt::format(" {}", Record::kName);
  if (!record) return add_bytes(bytes, text);
  ByteArray bytes_of_field;
  for_each_field(*record, abi, [&](const char* name, const auto& value, usize) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, u8>) return bytes_of_field.add(name, value, text);
    bytes_of_field.end(text);
    if (value == 0) return;
    // A negative number has the bits of its width.
    constexpr u64 kMask = ~u64{0} >> (64 - 8 * sizeof(Value));
    *text += fmt::format(" {}={:#x}", name, static_cast<u64>(value) & kMask);
  });
  bytes_of_field.end(text);
}

// Adds the fields of the record for which `is` holds; false: there is none.
template <class... Records, class Is>
bool add_one_of(List<Records...>, const Is& is, std::span<const std::byte> bytes, DriverAbi abi,
                std::string* text) {
  const auto add = [&]<class Record>(std::type_identity<Record> type) {
    if (!is(type)) return false;
    add_fields<Record>(bytes, abi, text);
    return true;
  };
  return (add(std::type_identity<Records>()) || ...);
}

// What an escape points to; a size of 0 is that of the class or the command.
template <class Add>
void add_nested(u64 address, u32 size, std::string* text, const Add& add) {
  if (address == 0) return;
  *text += " |";
  const auto bytes = read_client(address, size);
  if (!bytes) {
    *text += fmt::format(" {} bytes that cannot be read", size);
    return;
  }
  if (!add(*bytes)) add_bytes(*bytes, text);
}

u32 size_of_class(u32 class_id, DriverAbi abi) {
  if (kind_of(static_cast<ClassId>(class_id)) == ClassKind::Channel)
    return static_cast<u32>(packed_size<ChannelParameters>(abi));
  if (class_id == kMemorySystem || class_id == kMemoryLocalUser)
    return static_cast<u32>(packed_size<MemoryParameters>(abi));
  u32 size = 0;
  [&]<class... Records>(List<Records...>) {
    ((Records::kClass == class_id ? size = static_cast<u32>(packed_size<Records>(abi)) : 0u), ...);
  }(Classes());
  return size;
}

void add_class(u32 class_id, u64 params, u32 given, DriverAbi abi, std::string* text) {
  const u32 size = given != 0 ? given : size_of_class(class_id, abi);
  add_nested(params, size, text, [&](std::span<const std::byte> bytes) {
    if (kind_of(static_cast<ClassId>(class_id)) == ClassKind::Channel)
      return add_fields<ChannelParameters>(bytes, abi, text), true;
    if (class_id == kMemorySystem || class_id == kMemoryLocalUser)
      return add_fields<MemoryParameters>(bytes, abi, text), true;
    return add_one_of(
        Classes(), [&]<class R>(std::type_identity<R>) { return R::kClass == class_id; }, bytes,
        abi, text);
  });
}

void end(int error, std::string* text) {
  if (error != 0) *text += fmt::format(" -> {} ({})", -error, std::strerror(error));
}

}  // namespace

std::optional<std::vector<std::byte>> read_client(u64 address, usize bytes) {
  std::vector<std::byte> into(bytes);
  iovec here{into.data(), bytes}, there{reinterpret_cast<void*>(address), bytes};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes))
    return std::nullopt;
  return into;
}

std::optional<NvEscape> escape_of(unsigned long request, const void* argument) {
  // The frame buffer's ioctls have the same letter, but no size.
  if (request > ~u32{0} || _IOC_TYPE(request) != kEscapeType || _IOC_SIZE(request) == 0)
    return std::nullopt;
  auto bytes = read_client(reinterpret_cast<u64>(argument), _IOC_SIZE(request));
  if (!bytes) return std::nullopt;
  const u8 number = _IOC_NR(request);
  if (number != TransferEscape::kEscape) return NvEscape{number, std::move(*bytes)};
  const auto transfer = record_of<TransferEscape>(*bytes, DriverAbi::R570);
  if (!transfer) return std::nullopt;
  auto given = read_client(transfer->ptr, transfer->size);
  if (!given) return std::nullopt;
  return NvEscape{static_cast<u8>(transfer->cmd), std::move(*given)};
}

std::optional<RmAllocWithRights> alloc_of(const NvEscape& escape, DriverAbi abi) {
  if (escape.number != RmAlloc::kEscape) return std::nullopt;
  if (const auto whole = record_of<RmAllocWithRights>(escape.argument, abi)) return whole;
  const auto alloc = record_of<RmAlloc>(escape.argument, abi);
  if (!alloc) return std::nullopt;
  return RmAllocWithRights{.root = alloc->root,
                           .object_parent = alloc->object_parent,
                           .object_new = alloc->object_new,
                           .class_id = alloc->class_id,
                           .params = alloc->params,
                           .params_size = alloc->params_size,
                           .status = alloc->status};
}

std::string text_of(const NvEscape& escape, DriverAbi abi, int error) {
  std::string text;
  if (const auto alloc = alloc_of(escape, abi)) {
    if (escape.argument.size() == packed_size<RmAlloc>(abi))
      add_fields<RmAlloc>(escape.argument, abi, &text);
    else
      add_fields<RmAllocWithRights>(escape.argument, abi, &text);
    add_class(alloc->class_id, alloc->params, alloc->params_size, abi, &text);
  } else if (escape.number == CardInfo::kEscape) {
    // As many records as the client has room for; those without a GPU are empty.
    const usize size = packed_size<CardInfo>(abi);
    for (usize at = 0; at + size <= escape.argument.size(); at += size) {
      const auto bytes = std::span(escape.argument).subspan(at, size);
      const auto card = record_of<CardInfo>(bytes, abi);
      if (at == 0 || (card && card->valid)) add_fields<CardInfo>(bytes, abi, &text);
    }
  } else if (!add_one_of(
                 Escapes(),
                 [&]<class R>(std::type_identity<R>) { return R::kEscape == escape.number; },
                 escape.argument, abi, &text)) {
    text = fmt::format(" escape {:#x}", escape.number);
    add_bytes(escape.argument, &text);
  }
  if (escape.number == RmControl::kEscape) {
    if (const auto control = record_of<RmControl>(escape.argument, abi))
      add_nested(control->params, control->params_size, &text, [&](auto bytes) {
        return add_one_of(
            Commands(), [&]<class R>(std::type_identity<R>) { return R::kCommand == control->cmd; },
            bytes, abi, &text);
      });
  }
  end(error, &text);
  return text.substr(1);
}

std::string text_of_uvm(u32 request, const void* argument, DriverAbi abi, int error) {
  std::string text;
  // The request has no size: that of the record is read.
  const bool known = [&]<class... Records>(List<Records...>) {
    const auto add = [&]<class Record>(std::type_identity<Record>) {
      if (Record::kRequest != request) return false;
      const auto bytes = read_client(reinterpret_cast<u64>(argument), packed_size<Record>(abi));
      add_fields<Record>(bytes ? *bytes : std::vector<std::byte>(), abi, &text);
      return true;
    };
    return (add(std::type_identity<Records>()) || ...);
  }(UvmCalls());
  if (!known) text = fmt::format(" UVM ioctl {}", request);
  end(error, &text);
  return text.substr(1);
}

}  // namespace doorbell::tools
