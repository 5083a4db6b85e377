// A libusb with one device, 1-2, for the tests of base/os/host_usb.cc: built with libusb's own
// header, so that both sides have its layouts. Transfers end when events are handled. Endpoints:
// 0x02 takes all, 0x81 gives 7 bytes, 0x83 stalls until it is cleared, 0x84 is silent until the
// transfer is cancelled, 0x85 finds the device unplugged. Interface 1 is somebody else's.
#include <libusb-1.0/libusb.h>

#include <cstring>
#include <deque>
#include <set>

namespace {

int device, handle, context;
libusb_device* const kDevice = reinterpret_cast<libusb_device*>(&device);
libusb_device_handle* const kHandle = reinterpret_cast<libusb_device_handle*>(&handle);
std::deque<libusb_transfer*> submitted;
std::set<libusb_transfer*> silent;
bool is_stalled = true;

void end(libusb_transfer* transfer, libusb_transfer_status status, int count) {
  transfer->status = status;
  transfer->actual_length = count;
  transfer->callback(transfer);
}

}  // namespace

extern "C" {

int LIBUSB_CALL libusb_init(libusb_context** made) {
  *made = reinterpret_cast<libusb_context*>(&context);
  return 0;
}
ssize_t LIBUSB_CALL libusb_get_device_list(libusb_context*, libusb_device*** list) {
  *list = new libusb_device*[2]{kDevice, nullptr};
  return 1;
}
void LIBUSB_CALL libusb_free_device_list(libusb_device** list, int) { delete[] list; }
int LIBUSB_CALL libusb_get_device_descriptor(libusb_device*, libusb_device_descriptor* into) {
  *into = {};
  into->idVendor = 0xadd1;
  into->idProduct = 1;
  into->iProduct = 3;
  return 0;
}
uint8_t LIBUSB_CALL libusb_get_bus_number(libusb_device*) { return 1; }
uint8_t LIBUSB_CALL libusb_get_device_address(libusb_device*) { return 2; }
libusb_device* LIBUSB_CALL libusb_get_device(libusb_device_handle*) { return kDevice; }
int LIBUSB_CALL libusb_open(libusb_device*, libusb_device_handle** opened) {
  *opened = kHandle;
  return 0;
}
void LIBUSB_CALL libusb_close(libusb_device_handle*) {}
int LIBUSB_CALL libusb_get_string_descriptor_ascii(libusb_device_handle*, uint8_t index,
                                                   unsigned char* into, int) {
  if (index != 3) return LIBUSB_ERROR_NOT_FOUND;
  std::memcpy(into, "custom", 6);
  return 6;
}
int LIBUSB_CALL libusb_set_auto_detach_kernel_driver(libusb_device_handle*, int) { return 0; }
int LIBUSB_CALL libusb_set_configuration(libusb_device_handle*, int) { return 0; }
int LIBUSB_CALL libusb_claim_interface(libusb_device_handle*, int interface) {
  return interface == 0 ? 0 : LIBUSB_ERROR_BUSY;
}
int LIBUSB_CALL libusb_release_interface(libusb_device_handle*, int) { return 0; }
int LIBUSB_CALL libusb_set_interface_alt_setting(libusb_device_handle*, int, int) { return 0; }
libusb_transfer* LIBUSB_CALL libusb_alloc_transfer(int) { return new libusb_transfer{}; }
void LIBUSB_CALL libusb_free_transfer(libusb_transfer* transfer) { delete transfer; }
int LIBUSB_CALL libusb_submit_transfer(libusb_transfer* transfer) {
  submitted.push_back(transfer);
  return 0;
}
int LIBUSB_CALL libusb_cancel_transfer(libusb_transfer* transfer) {
  if (silent.erase(transfer) != 0) end(transfer, LIBUSB_TRANSFER_CANCELLED, 0);
  return 0;
}
int LIBUSB_CALL libusb_handle_events_timeout_completed(libusb_context*, timeval*, int*) {
  // What has a time limit of a millisecond is over.
  for (libusb_transfer* transfer : std::set<libusb_transfer*>(silent))
    if (transfer->timeout == 1) {
      silent.erase(transfer);
      end(transfer, LIBUSB_TRANSFER_TIMED_OUT, 0);
    }
  if (submitted.empty()) return 0;
  libusb_transfer* const transfer = submitted.front();
  submitted.pop_front();
  if (transfer->type == LIBUSB_TRANSFER_TYPE_CONTROL) {
    // What comes back is the setup packet, again and again.
    const int count = transfer->length - 8;
    if ((transfer->buffer[0] & 0x80) != 0)
      for (int i = 0; i < count; ++i) transfer->buffer[8 + i] = transfer->buffer[i % 8];
    end(transfer, LIBUSB_TRANSFER_COMPLETED, count);
    return 0;
  }
  switch (transfer->endpoint) {
    case 0x81:
      for (int i = 0; i < 7; ++i) transfer->buffer[i] = static_cast<unsigned char>(i + 1);
      end(transfer, LIBUSB_TRANSFER_COMPLETED, 7);
      break;
    case 0x83:
      if (is_stalled)
        end(transfer, LIBUSB_TRANSFER_STALL, 0);
      else
        end(transfer, LIBUSB_TRANSFER_COMPLETED, transfer->length);
      break;
    case 0x84: silent.insert(transfer); break;
    case 0x85: end(transfer, LIBUSB_TRANSFER_NO_DEVICE, 0); break;
    default: end(transfer, LIBUSB_TRANSFER_COMPLETED, transfer->length);
  }
  return 0;
}
int LIBUSB_CALL libusb_clear_halt(libusb_device_handle*, unsigned char) {
  is_stalled = false;
  return 0;
}
const char* LIBUSB_CALL libusb_strerror(int code) {
  return code == LIBUSB_ERROR_PIPE ? "Pipe error" : "some error";
}

}  // extern "C"
