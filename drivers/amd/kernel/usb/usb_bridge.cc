// [the sources of drivers/amd/hw/usb/asm2464.h; time limits are those of the host there, but a
// stream's, which goes with its size: the firmware's README has 3.6 MB/s out and 1.8 MB/s in]
#include "drivers/amd/kernel/usb/usb_bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

using hw::BridgeRequest;
using hw::TlpMode;
using hw::TlpRequest;
using hw::TlpType;

constexpr u64 kMillisecond_ns = 1'000'000, kSecond_ns = 1000 * kMillisecond_ns;
constexpr u64 kControl_ns = kSecond_ns, kTlp_ns = 5 * kSecond_ns, kPower_ns = 10 * kSecond_ns;
// A piece of a stream, and how many are under way: the next one is prepared meanwhile.
constexpr usize kPiece = usize{256} << 10, kPieces = 4;
constexpr u64 kPiece_ns = 2 * kSecond_ns;
constexpr u64 kBuffer_ns = 10 * kSecond_ns;  // of the buffer, which waits for the GPU
constexpr u64 kRetry_ns = kSecond_ns;        // of what is not ready yet

constexpr u8 code(BridgeRequest request) { return static_cast<u8>(request); }

u8 byte_enable(u64 address, unsigned bytes) {
  return static_cast<u8>(((1u << bytes) - 1) << address % 4);
}

}  // namespace

Result<std::vector<os::UsbId>> list_bridges(os::Usb& usb) {
  TRY(std::vector<os::UsbId> all, usb.list());
  std::erase_if(all, [](const os::UsbId& id) {
    return std::ranges::none_of(hw::kBridgeIds, [&](const hw::BridgeId& known) {
      return known.vendor == id.vendor && known.product == id.product;
    });
  });
  return all;
}

Result<std::unique_ptr<UsbBridge>> UsbBridge::open(os::Usb& usb, os::Clock& clock,
                                                   const os::UsbId& id) {
  TRY(std::unique_ptr<os::UsbDevice> device, usb.open(id, hw::kBridgeInterface));
  std::unique_ptr<UsbBridge> bridge(
      new UsbBridge(clock, std::move(device), "USB device " + id.address));
  TRY(bridge->switch_on());
  return bridge;
}

template <class T>
Result<T> UsbBridge::keep(Result<T> result) {
  if (!result && state_) state_ = Error(result.error());
  return result;
}

Result<void> UsbBridge::state() {
  std::lock_guard lock(mutex_);
  if (state_) return {};
  return Error(state_.error());
}

Result<u8> UsbBridge::read_chip(u16 address) {
  std::array<u8, 1> byte{};
  TRY(const usize count,
      device_->control({os::kUsbVendorIn, code(BridgeRequest::ReadChip), address, 0}, byte,
                       kControl_ns));
  if (count != byte.size())
    return fail(ErrorKind::DeviceLost, "{} gives no byte at {:#x}", name_, address);
  return byte[0];
}

Result<void> UsbBridge::switch_on() {
  TRY(u8 link, read_chip(hw::kBridgeLinkState));
  if (link == hw::kBridgeLinkUp) return {};
  TRY(device_->control({os::kUsbVendorOut, code(BridgeRequest::Power), 1, 0}, {}, kPower_ns));
  const u64 end = clock_.now_ns() + kPower_ns;
  for (;;) {
    TRY(link, read_chip(hw::kBridgeLinkState));
    if (link == hw::kBridgeLinkUp) return {};
    if (clock_.now_ns() >= end)
      return fail(ErrorKind::NotFound,
                  "{} has no GPU that answers: the link's state is {:#x}, expected {:#x}; has the "
                  "enclosure its own power?",
                  name_, link, hw::kBridgeLinkUp);
    clock_.sleep_until(clock_.now_ns() + 10 * kMillisecond_ns);
  }
}

// Both transfers at once, and so in the time of one.
Result<hw::TlpReply> UsbBridge::exchange(const TlpRequest& request) {
  std::array<u8, TlpRequest::kBytes> data = request.data();
  std::array<u8, hw::TlpReply::kBytes> answer{};
  const bool is_answered = !hw::is_posted(request.type);
  TRY(const u32 sent, device_->start_control({os::kUsbVendorOut, code(BridgeRequest::Tlp),
                                              request.setup_value(), request.setup_index()},
                                             data, kTlp_ns));
  Result<u32> asked = u32{0};
  if (is_answered)
    asked =
        device_->start_control({os::kUsbVendorIn, code(BridgeRequest::Tlp), 0, 0}, answer, kTlp_ns);
  // Both end before their memory goes.
  const Result<usize> count = device_->finish(sent);
  Result<usize> answered = answer.size();
  if (is_answered && asked) answered = device_->finish(*asked);
  if (!count) return Error(count.error());
  if (*count != data.size())
    return fail(ErrorKind::DeviceLost, "{} took {} bytes of a request of {}", name_, *count,
                data.size());
  if (!asked) return Error(asked.error());
  if (!answered) return Error(answered.error());
  if (!is_answered) return hw::TlpReply{};
  Result<hw::TlpReply> reply = hw::TlpReply::read(std::span(answer).first(*answered));
  if (!reply) return fail(ErrorKind::DeviceLost, "{}: {}", name_, reply.error().message);
  return *reply;
}

Result<u32> UsbBridge::request(const TlpRequest& request) {
  const u64 end = clock_.now_ns() + kRetry_ns;
  for (;;) {
    TRY(const hw::TlpReply reply, keep(exchange(request)));
    const auto failed = [&](ErrorKind kind, std::string_view why) {
      return fail(kind, "{}: request {:#x} at {:#x} on PCIe: {}", name_,
                  static_cast<u8>(request.type), request.address, why);
    };
    if (reply.failure == 0 && reply.status() == hw::TlpStatus::Successful) return reply.value;
    if (reply.failure == 0 && reply.status() == hw::TlpStatus::Unsupported)
      return failed(ErrorKind::NotFound, "nothing is there");
    if (reply.failure == 0 && reply.status() != hw::TlpStatus::ConfigRetry)
      return failed(ErrorKind::DeviceLost, fmt::format("status {}", u32{reply.header} >> 13));
    if (clock_.now_ns() >= end)
      return failed(ErrorKind::DeviceLost, reply.failure == 0 ? "it is not ready within a second"
                                                              : "no answer within a second");
    clock_.sleep_until(clock_.now_ns() + kMillisecond_ns);
  }
}

Result<void> UsbBridge::transfer_all(u8 endpoint, std::span<u8> bytes) {
  std::deque<std::pair<u32, usize>> under_way;
  Result<void> result;
  usize begun = 0;
  while (begun < bytes.size() || !under_way.empty()) {
    if (result && begun < bytes.size() && under_way.size() < kPieces) {
      const usize now = std::min(kPiece, bytes.size() - begun);
      Result<u32> transfer = device_->start_bulk(endpoint, bytes.subspan(begun, now),
                                                 kPiece_ns * (under_way.size() + 1));
      if (transfer)
        under_way.emplace_back(*transfer, now);
      else
        result = std::move(transfer).error();
      begun += now;
      continue;
    }
    if (under_way.empty()) break;
    const auto [transfer, expected] = under_way.front();
    under_way.pop_front();
    const Result<usize> count = device_->finish(transfer);
    if (!result) continue;
    if (!count)
      result = Error(count.error());
    else if (*count != expected)
      result = fail(ErrorKind::DeviceLost, "{} moved {} bytes at endpoint {:#x}, expected {}",
                    name_, *count, endpoint, expected);
  }
  // Whoever opens it next finds the endpoint free.
  if (!result && result.error().os_errno == EPIPE) (void)device_->clear_stall(endpoint);
  return result;
}

Result<void> UsbBridge::stream(const TlpRequest& request, std::span<u8> bytes) {
  std::array<u8, TlpRequest::kBytes> data = request.data();
  TRY(const usize count, device_->control({os::kUsbVendorOut, code(BridgeRequest::Tlp),
                                           request.setup_value(), request.setup_index()},
                                          data, kTlp_ns));
  if (count != data.size())
    return fail(ErrorKind::DeviceLost, "{} took {} bytes of a request of {}", name_, count,
                data.size());
  return transfer_all(request.mode == TlpMode::StreamRead ? hw::kBridgeIn : hw::kBridgeOut, bytes);
}

// ---- the buffer ---------------------------------------------------------------------------------

Result<void> UsbBridge::read_chip(u16 address, std::span<u8> into) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  TRY(const usize count,
      keep(device_->control({os::kUsbVendorIn, code(BridgeRequest::ReadChip), address, 0}, into,
                            kControl_ns)));
  if (count == into.size()) return {};
  return keep(Result<void>(fail(ErrorKind::DeviceLost, "{} gives {} bytes of {} at {:#x}", name_,
                                count, into.size(), address)));
}

Result<void> UsbBridge::write_chip_byte(u16 address, u8 value) {
  TRY(device_->control({os::kUsbVendorOut, code(BridgeRequest::WriteChip), address, value}, {},
                       kControl_ns));
  return {};
}

Result<void> UsbBridge::write_chip(u16 address, u8 value) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  return keep(write_chip_byte(address, value));
}

Result<void> UsbBridge::ask_buffer(const hw::BufferRequest& request) {
  TRY(device_->control({os::kUsbVendorOut, code(BridgeRequest::Buffer), request.setup_value(),
                        request.setup_index()},
                       {}, kControl_ns));
  return {};
}

Result<u64> UsbBridge::begin_transfer(u8 endpoint, std::span<u8> bytes) {
  TRY(const u32 transfer,
      device_->start_bulk(endpoint, bytes, kBuffer_ns * (under_way_.size() + 1)));
  under_way_.push_back({++last_transfer_, transfer, bytes.size(), endpoint});
  return last_transfer_;
}

namespace {

hw::BufferRequest buffer_request(bool leaves, u32 slot, usize bytes) {
  CHECK(bytes != 0 && bytes % hw::kBridgeSectorBytes == 0 &&
            slot * hw::kBridgeSlotBytes + bytes <= hw::kBridgeBufferBytes,
        "{} bytes of the buffer from slot {} on", bytes, slot);
  return {.leaves = leaves,
          .slot = slot,
          .slots = static_cast<u32>((bytes + hw::kBridgeSlotBytes - 1) / hw::kBridgeSlotBytes),
          .sectors = static_cast<u32>(bytes / hw::kBridgeSectorBytes)};
}

}  // namespace

Result<u64> UsbBridge::fill_buffer(u32 slot, std::span<const u8> bytes) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  TRY(keep(ask_buffer(buffer_request(false, slot, bytes.size()))));
  // Transfers out only read what they are given.
  u8* const data = const_cast<u8*>(bytes.data());
  return keep(begin_transfer(hw::kBridgeOut, {data, bytes.size()}));
}

Result<u64> UsbBridge::drain_buffer(u32 slot, std::span<u8> bytes, u16 go_address, u8 go) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  TRY(keep(ask_buffer(buffer_request(true, slot, bytes.size()))));
  // What is under way is to end whatever fails, so the transfer begins last.
  TRY(keep(write_chip_byte(go_address, go)));
  return keep(begin_transfer(hw::kBridgeIn, bytes));
}

Result<void> UsbBridge::finish_until(u64 transfer) {
  Result<void> result;
  while (!under_way_.empty() && under_way_.front().number <= transfer) {
    const BufferTransfer front = under_way_.front();
    under_way_.pop_front();
    const Result<usize> count = device_->finish(front.transfer);
    if (!result) continue;
    if (!count)
      result = Error(count.error());
    else if (*count != front.bytes)
      result = fail(ErrorKind::DeviceLost, "{} moved {} bytes of its buffer, expected {}", name_,
                    *count, front.bytes);
    if (!result && result.error().os_errno == EPIPE) (void)device_->clear_stall(front.endpoint);
  }
  return keep(std::move(result));
}

Result<void> UsbBridge::finish_transfer(u64 transfer) {
  std::lock_guard lock(mutex_);
  TRY(finish_until(transfer));
  if (state_) return {};
  return Error(state_.error());
}

// ---- PCIe ---------------------------------------------------------------------------------------

Result<u32> UsbBridge::read_config(u8 bus, u16 offset, unsigned bytes) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  TRY(finish_until(last_transfer_));
  TRY(const u32 word,
      request({.type = bus == 0 ? TlpType::ConfigRead0 : TlpType::ConfigRead1,
               .byte_enable = byte_enable(offset, bytes),
               .address = hw::config_address(bus, 0, static_cast<u16>(offset & ~3u))}));
  return static_cast<u32>(word >> 8 * (offset % 4) & ((u64{1} << 8 * bytes) - 1));
}

Result<void> UsbBridge::write_config(u8 bus, u16 offset, unsigned bytes, u32 value) {
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  TRY(finish_until(last_transfer_));
  TRY(request({.type = bus == 0 ? TlpType::ConfigWrite0 : TlpType::ConfigWrite1,
               .byte_enable = byte_enable(offset, bytes),
               .address = hw::config_address(bus, 0, static_cast<u16>(offset & ~3u)),
               .value = value << 8 * (offset % 4)}));
  return {};
}

Result<void> UsbBridge::read_memory(u64 address, std::span<u8> into) {
  CHECK(address % 4 == 0 && into.size() % 4 == 0, "{} bytes at {:#x}", into.size(), address);
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  if (into.empty()) return {};
  TRY(finish_until(last_transfer_));
  if (into.size() == sizeof(u32)) {
    TRY(const u32 word, keep(request({.type = TlpType::MemoryRead, .address = address})));
    std::memcpy(into.data(), &word, sizeof word);
    return {};
  }
  return keep(stream({.type = TlpType::MemoryRead,
                      .mode = TlpMode::StreamRead,
                      .address = address,
                      .value = static_cast<u32>(into.size() / sizeof(u32))},
                     into));
}

Result<void> UsbBridge::write_memory(u64 address, std::span<const u8> bytes) {
  CHECK(address % 4 == 0 && bytes.size() % 4 == 0, "{} bytes at {:#x}", bytes.size(), address);
  std::lock_guard lock(mutex_);
  if (!state_) return Error(state_.error());
  if (bytes.empty()) return {};
  TRY(finish_until(last_transfer_));
  if (bytes.size() == sizeof(u32)) {
    u32 word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    TRY(keep(request({.type = TlpType::MemoryWrite, .address = address, .value = word})));
    return {};
  }
  // Transfers out only read what they are given.
  u8* const data = const_cast<u8*>(bytes.data());
  return keep(stream({.type = TlpType::MemoryWrite,
                      .mode = TlpMode::StreamWrite,
                      .address = address,
                      .value = static_cast<u32>(bytes.size() / sizeof(u32))},
                     {data, bytes.size()}));
}

}  // namespace doorbell::amd
