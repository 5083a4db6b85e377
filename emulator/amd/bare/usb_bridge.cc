// [tinygrad/asm2464pd-firmware c5e2090f97a8, handmade/src/main.c handle_usb_control(),
// do_usb_bulk_in(), handle_usb_bulk_data()]
#include "emulator/amd/bare/usb_bridge.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/util/try.h"
#include "emulator/amd/bare/bare_checks.h"

namespace doorbell::emu::amdgpu {

using amd::hw::BridgeRequest;
using amd::hw::TlpMode;
using amd::hw::TlpReply;
using amd::hw::TlpRequest;
using amd::hw::TlpType;

struct EmulatedUsb::Bridge {
  Bridge(BareGpu& gpu, BridgeMemory& memory, Checks& checks) : memory(memory), bus(gpu, checks) {
    gpu.reach(memory.bus());
  }
  BridgeMemory& memory;
  UsbBus bus;
  bool is_plugged = true, is_claimed = false, is_powered = false;
  TlpReply reply{.failure = 0xff};
  // What is announced for the next bulk transfers; empty: nothing.
  std::optional<TlpRequest> stream;
};

namespace {

// Of the emulator, whose GPU may be slow.
constexpr std::chrono::seconds kPatience{20};

struct Transfer {
  u32 number = 0;
  bool is_control = false;
  os::UsbSetup setup;
  u8 endpoint = 0;
  std::span<u8> data;
};

}  // namespace

class EmulatedUsbDevice final : public os::UsbDevice {
 public:
  EmulatedUsbDevice(EmulatedUsb& usb, EmulatedUsb::Bridge& bridge, std::string name)
      : usb_(usb), bridge_(bridge), name_(std::move(name)) {}
  ~EmulatedUsbDevice() override {
    std::lock_guard lock(usb_.mutex_);
    bridge_.is_claimed = false;
  }

  std::string product() override { return "custom, emulated"; }
  Result<u32> start_control(const os::UsbSetup& setup, std::span<u8> data, u64) override {
    return start({.is_control = true, .setup = setup, .data = data});
  }
  Result<u32> start_bulk(u8 endpoint, std::span<u8> data, u64) override {
    return start({.endpoint = endpoint, .data = data});
  }
  Result<usize> finish(u32 number) override {
    std::unique_lock lock(usb_.mutex_);
    const auto of_number = [&](const Transfer& transfer) { return transfer.number == number; };
    while (!done_.contains(number)) {
      const auto asked = std::ranges::find_if(waiting_, of_number);
      if (asked == waiting_.end())
        return fail(ErrorKind::Invalid, "{}: no transfer {}", name_, number);
      const u8 endpoint = asked->endpoint;
      const auto first = std::ranges::find(waiting_, endpoint, &Transfer::endpoint);
      const Transfer transfer = *first;
      if (transfer.endpoint == amd::hw::kBridgeIn) await_buffer(lock);
      waiting_.erase(std::ranges::find(waiting_, transfer.number, &Transfer::number));
      done_.emplace(transfer.number, perform(transfer));
    }
    const auto found = done_.find(number);
    Result<usize> result = std::move(found->second);
    done_.erase(found);
    return result;
  }
  Result<void> clear_stall(u8 endpoint) override {
    std::lock_guard lock(usb_.mutex_);
    stalled_.erase(endpoint);
    // [main.c:134-145: CLEAR_FEATURE ends a stream]
    bridge_.stream.reset();
    return {};
  }

 private:
  Result<u32> start(Transfer transfer) {
    std::lock_guard lock(usb_.mutex_);
    transfer.number = ++last_;
    waiting_.push_back(transfer);
    return last_;
  }

  Error failed(ErrorKind kind, int os_errno, const Transfer& transfer, const char* why) {
    const std::string what =
        transfer.is_control ? fmt::format("request {:#x} with value {:#x}, index {:#x}, {} bytes",
                                          transfer.setup.request, transfer.setup.value,
                                          transfer.setup.index, transfer.data.size())
                            : fmt::format("transfer of {} bytes at endpoint {:#x}",
                                          transfer.data.size(), transfer.endpoint);
    Error error = fail(kind, "{}: {}: {}", name_, what, why);
    error.os_errno = os_errno;
    return error;
  }
  Error stall(const Transfer& transfer) {
    if (!transfer.is_control) stalled_.insert({transfer.endpoint, true});
    return failed(ErrorKind::Os, EPIPE, transfer, "the device stalls");
  }

  // What is to leave the buffer does when the GPU allows it.
  void await_buffer(std::unique_lock<std::mutex>& lock) {
    const auto begin = std::chrono::steady_clock::now();
    while (bridge_.is_plugged && bridge_.memory.armed(true) && !bridge_.memory.may_leave() &&
           std::chrono::steady_clock::now() - begin < kPatience) {
      lock.unlock();
      usb_.wait_();
      std::this_thread::yield();
      lock.lock();
    }
  }

  Result<usize> perform(const Transfer& transfer) {
    constexpr u64 kSetupBytes = 8;
    const u64 index = usb_.transfers_++;
    usb_.bytes_ += transfer.data.size() + (transfer.is_control ? kSetupBytes : 0);
    if (!bridge_.is_plugged)
      return failed(ErrorKind::DeviceLost, ENODEV, transfer, "the device is unplugged");
    if (!transfer.is_control && stalled_.contains(transfer.endpoint)) return stall(transfer);
    switch (usb_.faults_ ? usb_.faults_(index) : UsbFault::None) {
      case UsbFault::None: break;
      case UsbFault::Stall: return stall(transfer);
      case UsbFault::Timeout:
        return failed(ErrorKind::Timeout, ETIMEDOUT, transfer, "no answer in time");
      case UsbFault::Short:
        if (!transfer.data.empty()) return transfer.data.size() / 2;
        break;
      case UsbFault::Unplug:
        bridge_.is_plugged = bridge_.is_powered = false;
        return failed(ErrorKind::DeviceLost, ENODEV, transfer, "the device is unplugged");
    }
    if (transfer.is_control) return control(transfer);
    return transfer.endpoint == amd::hw::kBridgeIn ? bulk_in(transfer) : bulk_out(transfer);
  }

  Result<usize> misused(const Check& rule, const Transfer& transfer, const std::string& what) {
    usb_.checks_.report(rule, what);
    return stall(transfer);
  }

  Result<usize> control(const Transfer& transfer) {
    const os::UsbSetup& setup = transfer.setup;
    const bool is_in = setup.type == os::kUsbVendorIn;
    const auto unknown = [&] {
      return misused(kUsbRequest, transfer,
                     fmt::format("request {:#x} of type {:#x} with {} bytes", setup.request,
                                 setup.type, transfer.data.size()));
    };
    if (!is_in && setup.type != os::kUsbVendorOut) return unknown();
    switch (static_cast<BridgeRequest>(setup.request)) {
      case BridgeRequest::ReadChip:
        if (!is_in || transfer.data.empty() || transfer.data.size() > amd::hw::kBridgeMostChipBytes)
          return unknown();
        for (usize i = 0; i < transfer.data.size(); ++i)
          transfer.data[i] = chip_byte(static_cast<u32>(setup.value + i));
        return transfer.data.size();
      case BridgeRequest::WriteChip:
        // Of its registers nobody writes one.
        if (is_in || !transfer.data.empty() || setup.index > 0xff || !in_page(setup.value))
          return unknown();
        __atomic_store_n(&bridge_.memory.page()[setup.value - amd::hw::kBridgePageOfChip],
                         static_cast<u8>(setup.index), __ATOMIC_RELEASE);
        return usize{0};
      case BridgeRequest::Buffer:
        if (is_in || !transfer.data.empty() ||
            !bridge_.memory.arm(BridgeMemory::Request::read(setup.value, setup.index)))
          return unknown();
        return usize{0};
      case BridgeRequest::Power:
        if (is_in || !transfer.data.empty()) return unknown();
        if (bridge_.is_powered != ((setup.value & 1) != 0)) {
          bridge_.bus.power_on();
          bridge_.memory.power_on();
        }
        bridge_.is_powered = (setup.value & 1) != 0;
        return usize{0};
      case BridgeRequest::Tlp:
        if (is_in) {
          if (transfer.data.size() != TlpReply::kBytes) return unknown();
          std::ranges::copy(bridge_.reply.data(), transfer.data.begin());
          return transfer.data.size();
        }
        if (transfer.data.size() != TlpRequest::kBytes) return unknown();
        return request(transfer, TlpRequest::read(setup.value, setup.index,
                                                  transfer.data.first<TlpRequest::kBytes>()));
      default: return unknown();
    }
  }

  static bool in_page(u32 address) {
    return address >= amd::hw::kBridgePageOfChip &&
           address < amd::hw::kBridgePageOfChip + BusMemory::kPage;
  }
  u8 chip_byte(u32 address) {
    if (address == amd::hw::kBridgeLinkState)
      return bridge_.is_powered ? amd::hw::kBridgeLinkUp : 0;
    if (!in_page(address)) return 0;
    return __atomic_load_n(&bridge_.memory.page()[address - amd::hw::kBridgePageOfChip],
                           __ATOMIC_ACQUIRE);
  }

  // A transfer of the buffer; empty: it is none.
  std::optional<Result<usize>> buffer(const Transfer& transfer, bool leaves) {
    const std::optional<BridgeMemory::Request> request = bridge_.memory.armed(leaves);
    if (!request) return std::nullopt;
    if (transfer.data.size() != u64{request->sectors} * amd::hw::kBridgeSectorBytes)
      usb_.checks_.report(
          kUsbBuffer, fmt::format("{} bytes at endpoint {:#x}, of {} sectors", transfer.data.size(),
                                  transfer.endpoint, request->sectors));
    else if (!leaves)
      return bridge_.memory.arrive(transfer.data), transfer.data.size();
    else if (bridge_.memory.may_leave())
      return bridge_.memory.leave(transfer.data), transfer.data.size();
    return failed(ErrorKind::Timeout, ETIMEDOUT, transfer, "no answer in time");
  }

  Result<usize> request(const Transfer& transfer, const TlpRequest& tlp) {
    if (bridge_.stream && bridge_.stream->value != 0)
      usb_.checks_.report(kUsbStream, fmt::format("a request comes {} words before the end of a "
                                                  "stream",
                                                  bridge_.stream->value));
    if (bridge_.memory.armed(false) || bridge_.memory.armed(true))
      usb_.checks_.report(kUsbBuffer, "a request comes while bytes of the buffer are under way");
    bridge_.stream.reset();
    bridge_.reply = {.failure = 0xff};
    const bool is_stream = tlp.mode != TlpMode::Single;
    if (tlp.address % 4 != 0 || tlp.byte_enable == 0 || tlp.byte_enable > 0xf ||
        (is_stream && tlp.byte_enable != 0xf))
      usb_.checks_.report(
          kUsbWord, fmt::format("bytes {:#x} of the word at {:#x}", tlp.byte_enable, tlp.address));
    if (!bridge_.is_powered) {
      usb_.checks_.report(kUsbLink, fmt::format("a request for {:#x}", tlp.address));
      return transfer.data.size();
    }
    if (is_stream) {
      const bool is_write = tlp.mode == TlpMode::StreamWrite;
      if (tlp.type != (is_write ? TlpType::MemoryWrite : TlpType::MemoryRead))
        usb_.checks_.report(kUsbStream, fmt::format("a stream of requests of type {:#x}",
                                                    static_cast<u8>(tlp.type)));
      else if (tlp.value != 0)
        bridge_.stream = tlp;
      return transfer.data.size();
    }
    const auto answer = [&](std::optional<u32> value) {
      bridge_.reply = {.value = value.value_or(0), .header = 0x2004};  // Unsupported Request
      if (value) bridge_.reply.header = 4;
    };
    switch (tlp.type) {
      case TlpType::ConfigRead0:
      case TlpType::ConfigRead1:
        answer(bridge_.bus.read_config(tlp.address, tlp.type == TlpType::ConfigRead0));
        break;
      case TlpType::ConfigWrite0:
      case TlpType::ConfigWrite1:
        answer(bridge_.bus.write_config(tlp.address, tlp.type == TlpType::ConfigWrite0,
                                        tlp.byte_enable, tlp.value)
                   ? std::optional<u32>(0)
                   : std::nullopt);
        break;
      case TlpType::MemoryRead: answer(bridge_.bus.read_memory(tlp.address)); break;
      case TlpType::MemoryWrite:
        if (tlp.byte_enable != 0xf)
          usb_.checks_.report(kUsbWord, fmt::format("bytes {:#x} of the word at {:#x}",
                                                    tlp.byte_enable, tlp.address));
        bridge_.bus.write_memory(tlp.address, std::span(&tlp.value, 1));
        break;
      default:
        usb_.checks_.report(
            kUsbRequest, fmt::format("a request of type {:#x} on PCIe", static_cast<u8>(tlp.type)));
    }
    return transfer.data.size();
  }

  // How many words of the stream the transfer has; empty: it has no part in it.
  std::optional<usize> words_of(const Transfer& transfer, TlpMode mode) {
    const usize words = transfer.data.size() / sizeof(u32);
    const std::optional<TlpRequest>& stream = bridge_.stream;
    if (stream && stream->mode == mode && transfer.data.size() % sizeof(u32) == 0 &&
        words <= stream->value)
      return words;
    usb_.checks_.report(kUsbStream,
                        fmt::format("{} bytes at endpoint {:#x}, where {} words are announced",
                                    transfer.data.size(), transfer.endpoint,
                                    stream && stream->mode == mode ? stream->value : 0));
    return std::nullopt;
  }

  void advance(usize words) {
    bridge_.stream->address += words * sizeof(u32);
    bridge_.stream->value -= static_cast<u32>(words);
  }

  // A transfer that nobody announced waits until its time is over.
  Result<usize> bulk_out(const Transfer& transfer) {
    if (std::optional<Result<usize>> moved = buffer(transfer, false)) return *std::move(moved);
    const std::optional<usize> words = words_of(transfer, TlpMode::StreamWrite);
    if (!words) return failed(ErrorKind::Timeout, ETIMEDOUT, transfer, "no answer in time");
    std::vector<u32> all(*words);
    std::memcpy(all.data(), transfer.data.data(), transfer.data.size());
    bridge_.bus.write_memory(bridge_.stream->address, all);
    advance(*words);
    return transfer.data.size();
  }

  Result<usize> bulk_in(const Transfer& transfer) {
    if (std::optional<Result<usize>> moved = buffer(transfer, true)) return *std::move(moved);
    const std::optional<usize> words = words_of(transfer, TlpMode::StreamRead);
    if (!words) return failed(ErrorKind::Timeout, ETIMEDOUT, transfer, "no answer in time");
    for (usize i = 0; i < *words; ++i) {
      const std::optional<u32> word =
          bridge_.bus.read_memory(bridge_.stream->address + i * sizeof(u32));
      // [pcie_pio.h pcie_read_chunk(): what is there after an error is sent]
      const u32 value = word.value_or(~u32{0});
      std::memcpy(transfer.data.data() + i * sizeof(u32), &value, sizeof value);
    }
    advance(*words);
    return transfer.data.size();
  }

  EmulatedUsb& usb_;
  EmulatedUsb::Bridge& bridge_;
  const std::string name_;
  // Under the machine's lock:
  std::deque<Transfer> waiting_;
  std::map<u32, Result<usize>> done_;
  std::map<u8, bool> stalled_;
  u32 last_ = 0;
};

EmulatedUsb::EmulatedUsb(std::span<const std::unique_ptr<BareGpu>> gpus,
                         std::span<const std::unique_ptr<BridgeMemory>> memories, Checks& checks,
                         std::function<void()> wait)
    : checks_(checks), wait_(std::move(wait)) {
  for (usize i = 0; i < gpus.size(); ++i)
    bridges_.push_back(std::make_unique<Bridge>(*gpus[i], *memories[i], checks));
}

EmulatedUsb::~EmulatedUsb() = default;

namespace {

os::UsbId id_of(usize index) {
  return {fmt::format("1-{}", index + 2), amd::hw::kBridgeIds[0].vendor,
          amd::hw::kBridgeIds[0].product};
}

}  // namespace

Result<std::vector<os::UsbId>> EmulatedUsb::list() {
  std::lock_guard lock(mutex_);
  std::vector<os::UsbId> all{{"1-1", 0x1d6b, 0x0003}};  // a hub
  for (usize i = 0; i < bridges_.size(); ++i)
    if (bridges_[i]->is_plugged) all.push_back(id_of(i));
  return all;
}

Result<std::unique_ptr<os::UsbDevice>> EmulatedUsb::open(const os::UsbId& id, u8 interface) {
  std::lock_guard lock(mutex_);
  for (usize i = 0; i < bridges_.size(); ++i) {
    if (id_of(i) != id || !bridges_[i]->is_plugged) continue;
    const std::string name = "USB device " + id.address;
    if (interface != amd::hw::kBridgeInterface)
      return fail(ErrorKind::NotFound, "{} has no interface {}", name, interface);
    if (bridges_[i]->is_claimed)
      return fail(ErrorKind::Busy, "{} is used by another process", name);
    bridges_[i]->is_claimed = true;
    bridges_[i]->stream.reset();
    return std::make_unique<EmulatedUsbDevice>(*this, *bridges_[i], name);
  }
  return fail(ErrorKind::NotFound, "there is no USB device {}", id.address);
}

void EmulatedUsb::set_faults(UsbFaults faults) {
  std::lock_guard lock(mutex_);
  faults_ = std::move(faults);
}

u64 EmulatedUsb::transfers() const {
  std::lock_guard lock(mutex_);
  return transfers_;
}

u64 EmulatedUsb::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace doorbell::emu::amdgpu
