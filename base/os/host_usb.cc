// libusb-1.0: its header at build time (meson sets DOORBELL_LIBUSB), its library at run time.
// [libusb/libusb libusb/libusb.h, io.c: "Asynchronous device I/O"]
#include "base/os/usb.h"

#include "base/util/try.h"

#if DOORBELL_LIBUSB
#include <libusb-1.0/libusb.h>

#include <fmt/format.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/os/library.h"
#endif

namespace doorbell::os {

Result<usize> UsbDevice::control(const UsbSetup& setup, std::span<u8> data, u64 timeout_ns) {
  TRY(const u32 transfer, start_control(setup, data, timeout_ns));
  return finish(transfer);
}

Result<usize> UsbDevice::bulk(u8 endpoint, std::span<u8> data, u64 timeout_ns) {
  TRY(const u32 transfer, start_bulk(endpoint, data, timeout_ns));
  return finish(transfer);
}

#if DOORBELL_LIBUSB

namespace {

struct Api {
  Result<void> load() {
    const std::string names[] = {"libusb-1.0.so.0"};
    Result<const Library*> library = Library::open_for_good(names);
    if (!library)
      return fail(ErrorKind::NotFound, "no libusb-1.0 ({}); install libusb-1.0-0",
                  library.error().message);
#define FIND(field) \
  TRY(field, (*library)->function<std::remove_pointer_t<decltype(field)>>("libusb_" #field));
    FIND(init)
    FIND(get_device_list)
    FIND(free_device_list)
    FIND(get_device_descriptor)
    FIND(get_bus_number)
    FIND(get_device_address)
    FIND(get_device)
    FIND(open)
    FIND(close)
    FIND(get_string_descriptor_ascii)
    FIND(set_auto_detach_kernel_driver)
    FIND(set_configuration)
    FIND(claim_interface)
    FIND(release_interface)
    FIND(set_interface_alt_setting)
    FIND(alloc_transfer)
    FIND(free_transfer)
    FIND(submit_transfer)
    FIND(cancel_transfer)
    FIND(handle_events_timeout_completed)
    FIND(clear_halt)
    FIND(strerror)
#undef FIND
    if (const int code = init(&context); code < 0)
      return fail(ErrorKind::Os, "libusb does not start: {}", strerror(code));
    return {};
  }

  decltype(&libusb_init) init;
  decltype(&libusb_get_device_list) get_device_list;
  decltype(&libusb_free_device_list) free_device_list;
  decltype(&libusb_get_device_descriptor) get_device_descriptor;
  decltype(&libusb_get_bus_number) get_bus_number;
  decltype(&libusb_get_device_address) get_device_address;
  decltype(&libusb_get_device) get_device;
  decltype(&libusb_open) open;
  decltype(&libusb_close) close;
  decltype(&libusb_get_string_descriptor_ascii) get_string_descriptor_ascii;
  decltype(&libusb_set_auto_detach_kernel_driver) set_auto_detach_kernel_driver;
  decltype(&libusb_set_configuration) set_configuration;
  decltype(&libusb_claim_interface) claim_interface;
  decltype(&libusb_release_interface) release_interface;
  decltype(&libusb_set_interface_alt_setting) set_interface_alt_setting;
  decltype(&libusb_alloc_transfer) alloc_transfer;
  decltype(&libusb_free_transfer) free_transfer;
  decltype(&libusb_submit_transfer) submit_transfer;
  decltype(&libusb_cancel_transfer) cancel_transfer;
  decltype(&libusb_handle_events_timeout_completed) handle_events_timeout_completed;
  decltype(&libusb_clear_halt) clear_halt;
  decltype(&libusb_strerror) strerror;
  libusb_context* context = nullptr;
};

Error error_of(const Api& api, int code, std::string what) {
  ErrorKind kind = ErrorKind::Os;
  int os_errno = EIO;
  switch (code) {
    case LIBUSB_ERROR_ACCESS: kind = ErrorKind::Permission, os_errno = EACCES; break;
    case LIBUSB_ERROR_NO_DEVICE:
    case LIBUSB_ERROR_NOT_FOUND: kind = ErrorKind::DeviceLost, os_errno = ENODEV; break;
    case LIBUSB_ERROR_BUSY: kind = ErrorKind::Busy, os_errno = EBUSY; break;
    case LIBUSB_ERROR_TIMEOUT: kind = ErrorKind::Timeout, os_errno = ETIMEDOUT; break;
    case LIBUSB_ERROR_PIPE: os_errno = EPIPE; break;
    case LIBUSB_ERROR_NO_MEM: kind = ErrorKind::OutOfMemory, os_errno = ENOMEM; break;
    default: break;
  }
  Error error = fail(kind, "{}: {}", what, api.strerror(code));
  error.os_errno = os_errno;
  return error;
}

// A transfer of libusb, while the device or the caller may still use it.
struct Transfer {
  libusb_transfer* raw = nullptr;
  std::vector<u8> setup;  // of a control transfer: the setup packet, then the data
  std::span<u8> data;     // the caller's
  bool is_in = false;
  int done = 0;
  std::string what;
};

// [libusb.h enum libusb_transfer_status]
int code_of(libusb_transfer_status status) {
  switch (status) {
    case LIBUSB_TRANSFER_COMPLETED: return 0;
    case LIBUSB_TRANSFER_TIMED_OUT: return LIBUSB_ERROR_TIMEOUT;
    case LIBUSB_TRANSFER_STALL: return LIBUSB_ERROR_PIPE;
    case LIBUSB_TRANSFER_NO_DEVICE: return LIBUSB_ERROR_NO_DEVICE;
    case LIBUSB_TRANSFER_OVERFLOW: return LIBUSB_ERROR_OVERFLOW;
    case LIBUSB_TRANSFER_CANCELLED: return LIBUSB_ERROR_INTERRUPTED;
    default: return LIBUSB_ERROR_IO;
  }
}

void LIBUSB_CALL on_done(libusb_transfer* raw) { *static_cast<int*>(raw->user_data) = 1; }

class HostDevice final : public UsbDevice {
 public:
  HostDevice(const Api& api, libusb_device_handle* handle, std::string name)
      : api_(api), handle_(handle), name_(std::move(name)) {}

  ~HostDevice() override {
    for (auto& [number, transfer] : transfers_) (void)api_.cancel_transfer(transfer->raw);
    for (auto& [number, transfer] : transfers_) {
      await(*transfer);
      api_.free_transfer(transfer->raw);
    }
    if (claimed_ >= 0) api_.release_interface(handle_, claimed_);
    api_.close(handle_);
  }

  Result<void> claim(u8 interface) {
    const auto checked = [&](int code, const char* what) -> Result<void> {
      if (code < 0) return error_of(api_, code, fmt::format("{}: {}", name_, what));
      return {};
    };
    // Not everywhere is there a driver, or the right to take it away; claiming tells.
    (void)api_.set_auto_detach_kernel_driver(handle_, 1);
    // Claimed first: the kernel refuses a change of configuration while a driver has an interface.
    TRY(checked(api_.claim_interface(handle_, interface), "it cannot be claimed"));
    claimed_ = interface;
    return checked(api_.set_interface_alt_setting(handle_, interface, 0),
                   "its interface cannot be set");
  }

  std::string product() override {
    libusb_device_descriptor descriptor{};
    if (api_.get_device_descriptor(api_.get_device(handle_), &descriptor) < 0) return "";
    unsigned char text[256];
    const int count =
        api_.get_string_descriptor_ascii(handle_, descriptor.iProduct, text, sizeof text);
    return count < 0 ? "" : std::string(text, text + count);
  }

  Result<u32> start_control(const UsbSetup& setup, std::span<u8> data, u64 timeout_ns) override {
    auto transfer = std::make_unique<Transfer>();
    transfer->data = data;
    transfer->is_in = (setup.type & LIBUSB_ENDPOINT_IN) != 0;
    transfer->what = fmt::format("{}: request {:#x} with value {:#x}, index {:#x}, {} bytes", name_,
                                 setup.request, setup.value, setup.index, data.size());
    const auto low = [](u64 value) { return static_cast<u8>(value); };
    const auto high = [](u64 value) { return static_cast<u8>(value >> 8); };
    transfer->setup = {setup.type,       setup.request,     low(setup.value), high(setup.value),
                       low(setup.index), high(setup.index), low(data.size()), high(data.size())};
    transfer->setup.insert(transfer->setup.end(), data.begin(), data.end());
    return start(std::move(transfer), 0, LIBUSB_TRANSFER_TYPE_CONTROL, timeout_ns);
  }

  Result<u32> start_bulk(u8 endpoint, std::span<u8> data, u64 timeout_ns) override {
    auto transfer = std::make_unique<Transfer>();
    transfer->data = data;
    transfer->what =
        fmt::format("{}: transfer of {} bytes at endpoint {:#x}", name_, data.size(), endpoint);
    return start(std::move(transfer), endpoint, LIBUSB_TRANSFER_TYPE_BULK, timeout_ns);
  }

  Result<usize> finish(u32 number) override {
    std::unique_ptr<Transfer> transfer;
    {
      std::lock_guard lock(mutex_);
      const auto found = transfers_.find(number);
      if (found == transfers_.end())
        return fail(ErrorKind::Invalid, "{}: no transfer {}", name_, number);
      transfer = std::move(found->second);
      transfers_.erase(found);
    }
    await(*transfer);
    const libusb_transfer& raw = *transfer->raw;
    const int code = code_of(raw.status);
    const usize count = static_cast<usize>(raw.actual_length);
    if (code == 0 && !transfer->setup.empty() && transfer->is_in)
      std::memcpy(transfer->data.data(), transfer->setup.data() + LIBUSB_CONTROL_SETUP_SIZE,
                  std::min(count, transfer->data.size()));
    api_.free_transfer(transfer->raw);
    if (code != 0) return error_of(api_, code, transfer->what);
    return count;
  }

  Result<void> clear_stall(u8 endpoint) override {
    if (const int code = api_.clear_halt(handle_, endpoint); code < 0)
      return error_of(api_, code,
                      fmt::format("{}: the stall of endpoint {:#x} stays", name_, endpoint));
    return {};
  }

 private:
  Result<u32> start(std::unique_ptr<Transfer> transfer, u8 endpoint, u8 type, u64 timeout_ns) {
    constexpr u64 kMillisecond_ns = 1'000'000;
    libusb_transfer* const raw = transfer->raw = api_.alloc_transfer(0);
    if (raw == nullptr) return error_of(api_, LIBUSB_ERROR_NO_MEM, transfer->what);
    const std::span<u8> bytes =
        transfer->setup.empty() ? transfer->data : std::span(transfer->setup);
    raw->dev_handle = handle_;
    raw->endpoint = endpoint;
    raw->type = type;
    raw->timeout = static_cast<unsigned>(std::max<u64>(timeout_ns / kMillisecond_ns, 1));
    raw->buffer = bytes.data();
    raw->length = static_cast<int>(bytes.size());
    raw->callback = on_done;
    raw->user_data = &transfer->done;
    if (const int code = api_.submit_transfer(raw); code < 0) {
      api_.free_transfer(raw);
      return error_of(api_, code, transfer->what);
    }
    std::lock_guard lock(mutex_);
    transfers_.emplace(++last_, std::move(transfer));
    return last_;
  }

  // Ends by the transfer's own time limit at the latest; libusb says when it is over.
  void await(Transfer& transfer) {
    while (transfer.done == 0) {
      timeval brief{.tv_sec = 0, .tv_usec = 100'000};
      (void)api_.handle_events_timeout_completed(api_.context, &brief, &transfer.done);
    }
  }

  const Api& api_;
  libusb_device_handle* const handle_;
  const std::string name_;
  int claimed_ = -1;
  std::mutex mutex_;  // guards what follows
  std::map<u32, std::unique_ptr<Transfer>> transfers_;
  u32 last_ = 0;
};

class HostUsb final : public Usb {
 public:
  Result<std::vector<UsbId>> list() override {
    std::vector<UsbId> all;
    TRY(each([&](libusb_device*, const UsbId& id) -> Result<void> {
      all.push_back(id);
      return {};
    }));
    std::ranges::sort(all, {}, &UsbId::address);
    return all;
  }

  Result<std::unique_ptr<UsbDevice>> open(const UsbId& id, u8 interface) override {
    const std::string name = "USB device " + id.address;
    std::unique_ptr<HostDevice> opened;
    TRY(each([&](libusb_device* device, const UsbId& one) -> Result<void> {
      if (one != id) return {};
      libusb_device_handle* handle = nullptr;
      if (const int code = api_.open(device, &handle); code < 0)
        return error_of(api_, code, name + " cannot be opened");
      opened = std::make_unique<HostDevice>(api_, handle, name);
      return opened->claim(interface);
    }));
    if (opened == nullptr) return fail(ErrorKind::NotFound, "there is no {} any more", name);
    return std::unique_ptr<UsbDevice>(std::move(opened));
  }

 private:
  template <class Visit>
  Result<void> each(const Visit& visit) {
    {
      std::lock_guard lock(mutex_);
      if (!is_loaded_) TRY(api_.load());
      is_loaded_ = true;
    }
    libusb_device** devices = nullptr;
    const auto count = api_.get_device_list(api_.context, &devices);
    if (count < 0) return error_of(api_, static_cast<int>(count), "the USB devices");
    Result<void> result;
    for (i64 i = 0; i < count && result; ++i) {
      libusb_device_descriptor descriptor{};
      if (api_.get_device_descriptor(devices[i], &descriptor) < 0) continue;
      result = visit(devices[i], {fmt::format("{}-{}", api_.get_bus_number(devices[i]),
                                              api_.get_device_address(devices[i])),
                                  descriptor.idVendor, descriptor.idProduct});
    }
    api_.free_device_list(devices, 1);
    return result;
  }

  std::mutex mutex_;  // guards the loading
  bool is_loaded_ = false;
  Api api_;
};

}  // namespace

Usb& host_usb() {
  static HostUsb& usb = *new HostUsb;
  return usb;
}

#else

namespace {

class NoUsb final : public Usb {
 public:
  Result<std::vector<UsbId>> list() override { return refuse(); }
  Result<std::unique_ptr<UsbDevice>> open(const UsbId&, u8) override { return refuse(); }

 private:
  static Error refuse() {
    return fail(ErrorKind::Unsupported, "this build has no libusb (libusb-1.0-0-dev)");
  }
};

}  // namespace

Usb& host_usb() {
  static NoUsb& usb = *new NoUsb;
  return usb;
}

#endif

}  // namespace doorbell::os
