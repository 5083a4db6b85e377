// What a bridge from USB answers, any bytes: setting up what is behind it ends, with a device whose
// regions do not overlap or with an error.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <vector>

#include "drivers/amd/kernel/usb/bridge_bus.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

// Time passes when somebody sleeps, and a little when somebody looks.
class Clock final : public os::Clock {
 public:
  u64 now_ns() override { return now_ += 1'000'000; }
  void sleep_until(u64 time_ns) override { now_ = std::max(now_, time_ns); }
  void relax(u32) override { now_ += 1'000'000; }

 private:
  u64 now_ = 0;
};

// The first byte of each answer says how the transfer ends; without bytes, it stalls.
class Device final : public os::UsbDevice {
 public:
  explicit Device(std::span<const u8>& bytes) : bytes_(bytes) {}
  std::string product() override { return ""; }
  Result<u32> start_control(const os::UsbSetup& setup, std::span<u8> data, u64) override {
    return begin(data, (setup.type & 0x80) != 0);
  }
  Result<u32> start_bulk(u8 endpoint, std::span<u8> data, u64) override {
    return begin(data, (endpoint & 0x80) != 0);
  }
  Result<usize> finish(u32 transfer) override { return std::move(ended_.at(transfer)); }
  Result<void> clear_stall(u8) override { return {}; }

 private:
  u32 begin(std::span<u8> data, bool is_in) {
    const u32 number = static_cast<u32>(ended_.size());
    if (!is_in) {
      ended_.emplace(number, data.size());
    } else if (bytes_.empty()) {
      Error error = fail(ErrorKind::Os, "no more bytes");
      error.os_errno = EPIPE;
      ended_.emplace(number, std::move(error));
    } else {
      const bool is_short = bytes_[0] == 0xff;
      bytes_ = bytes_.subspan(1);
      const usize count = std::min(is_short ? data.size() / 2 : data.size(), bytes_.size());
      std::copy_n(bytes_.begin(), count, data.begin());
      bytes_ = bytes_.subspan(count);
      ended_.emplace(number, is_short ? count : data.size());
    }
    return number;
  }
  std::span<const u8>& bytes_;
  std::map<u32, Result<usize>> ended_;
};

class Usb final : public os::Usb {
 public:
  explicit Usb(std::span<const u8> bytes) : bytes_(bytes) {}
  Result<std::vector<os::UsbId>> list() override { return std::vector<os::UsbId>{}; }
  Result<std::unique_ptr<os::UsbDevice>> open(const os::UsbId&, u8) override {
    return std::make_unique<Device>(bytes_);
  }

 private:
  std::span<const u8> bytes_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  (void)amd::hw::TlpReply::read({data, size});
  Usb usb({data, size});
  Clock clock;
  Result<std::unique_ptr<amd::UsbBridge>> bridge =
      amd::UsbBridge::open(usb, clock, {"1-1", 0xadd1, 1});
  if (!bridge) return 0;
  const Result<amd::BusDevice> found = amd::set_up_bus(**bridge, "usb-1-1");
  if (!found) return 0;
  for (usize i = 0; i < found->regions.size(); ++i)
    for (usize j = 0; j < i; ++j) {
      const os::PciRegion &a = found->regions[i], &b = found->regions[j];
      if (a.bytes != 0 && b.bytes != 0 && a.address < b.address + b.bytes &&
          b.address < a.address + a.bytes)
        std::abort();
    }
  return 0;
}
