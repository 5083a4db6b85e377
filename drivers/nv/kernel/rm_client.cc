// Opening /dev/nvidiactl, and the escapes of RM.
#include "drivers/nv/kernel/rm_client.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "drivers/nv/hw/rm/status.h"

namespace doorbell::nv {
namespace {

constexpr const char* kNode = "/dev/nvidiactl";
constexpr const char* kVersionFile = "/proc/driver/nvidia/version";
constexpr usize kMostCards = 32;  // NV_MAX_DEVICES

Error open_error(const Error& error, const std::string& path) {
  switch (error.kind) {
    case ErrorKind::NotFound:
      return fail(ErrorKind::NotFound,
                  "{} does not exist: no NVIDIA GPU, or the kernel module nvidia is not loaded "
                  "(modprobe nvidia; nvidia-modprobe makes the nodes); in a container, ask for the "
                  "GPU (--gpus all)",
                  path);
    case ErrorKind::Permission:
      return fail(ErrorKind::Permission,
                  "{} cannot be opened: give the user access to it (options NVreg_DeviceFileUID, "
                  "NVreg_DeviceFileGID and NVreg_DeviceFileMode of the module nvidia)",
                  path);
    default: return error;
  }
}

// _IOWR('F', escape, size). [Linux asm-generic/ioctl.h]
unsigned long request_of(u8 escape, usize size) {
  constexpr unsigned long kReadWrite = 3;
  return kReadWrite << 30 | static_cast<unsigned long>(size) << 16 |
         static_cast<unsigned long>(hw::kEscapeType) << 8 | escape;
}

ErrorKind kind_of(u32 status) {
  using enum hw::RmStatus;
  switch (static_cast<hw::RmStatus>(status)) {
    case NoMemory:
    case InsufficientResources: return ErrorKind::OutOfMemory;
    case InsufficientPermissions: return ErrorKind::Permission;
    case GpuIsLost:
    case ResetRequired:
    case RcError: return ErrorKind::DeviceLost;
    case NotSupported:
    case InvalidClass: return ErrorKind::Unsupported;
    case ObjectNotFound: return ErrorKind::NotFound;
    case StateInUse:
    case InUse: return ErrorKind::Busy;
    default: return ErrorKind::Os;
  }
}

Error refusal(u32 status, std::string_view call) {
  return fail(kind_of(status), "{} is refused: {}", call, hw::describe_status(status));
}

// The first word that looks like "580.105.08" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 580.105.08 ...".
std::string version_in(std::string_view text) {
  for (usize at = 0; at < text.size();) {
    const usize end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const usize dot = word.find('.');
    if (dot != 0 && dot != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return std::string(word);
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RmClient>> RmClient::open(os::Files& files) {
  Result<std::unique_ptr<os::File>> file = files.open(kNode, os::Access::ReadWrite);
  if (!file) return open_error(file.error(), kNode);
  std::unique_ptr<RmClient> client(new RmClient(files, std::move(*file)));
  hw::RmAlloc root{.class_id = hw::kRootClient};
  TRY(client->escape(client->file(), root));
  if (root.status != 0) return refusal(root.status, "NV_ESC_RM_ALLOC of a client");
  client->handle_ = root.object_new;
  TRY(client->learn_version());
  return client;
}

RmClient::~RmClient() {
  if (handle_ != 0) (void)free(0, handle_);
}

Result<void> RmClient::check(u32 status, const char* name, const std::string& what) {
  if (status == 0) [[likely]]
    return {};
  return refusal(status, fmt::format("{} of {}", name, what));
}

Result<void> RmClient::learn_version() {
  hw::GetBuildVersion answer;
  if (Result<void> asked = control(handle_, answer); asked) {
    const auto* text = reinterpret_cast<const char*>(answer.driver_version.data());
    version_ = version_in({text, strnlen(text, answer.driver_version.size())});
  } else if (Result<std::string> text = os::read_text(files_, kVersionFile); text) {
    // Sandboxes do not let the command through.
    version_ = version_in(*text);
  } else {
    return fail(asked.error().kind, "NVIDIA's driver does not report its version: {}; {}",
                asked.error().message, text.error().message);
  }
  u32 release = 0;
  std::from_chars(version_.data(), version_.data() + version_.size(), release);
  const std::optional<hw::DriverAbi> abi = hw::driver_abi(release);
  if (!abi)
    return fail(ErrorKind::Unsupported,
                "NVIDIA's driver is {}, releases 570 to 610 are known: parameters of its ioctls "
                "change with releases, and those of this one were not compared (docs/hw/nv.md); "
                "DEV=CUDA does not depend on them",
                version_.empty() ? "of an unknown version" : version_);
  abi_ = *abi;
  return {};
}

Result<std::vector<hw::CardInfo>> RmClient::cards() {
  const usize size = hw::packed_size<hw::CardInfo>(abi_);
  std::vector<std::byte> bytes(size * kMostCards);
  TRY(call(*file_, hw::CardInfo::kEscape, bytes, hw::CardInfo::kName));
  std::vector<hw::CardInfo> cards;
  for (usize i = 0; i < kMostCards; ++i) {
    TRY(const hw::CardInfo card,
        hw::unpack<hw::CardInfo>(std::span(bytes).subspan(i * size, size), abi_));
    if (card.valid) cards.push_back(card);
  }
  return cards;
}

Result<std::unique_ptr<os::File>> RmClient::open_node(const std::string& path) {
  Result<std::unique_ptr<os::File>> file = files_.open(path, os::Access::ReadWrite);
  if (!file) return open_error(file.error(), path);
  if (path == kNode) return std::move(*file);
  hw::RegisterFd tie{.ctl_fd = descriptor()};
  std::vector<std::byte> bytes = hw::pack(tie, abi_);
  TRY(call(**file, hw::RegisterFd::kEscape, bytes, hw::RegisterFd::kName));
  return std::move(*file);
}

Result<void> RmClient::call(os::File& file, u8 escape, std::span<std::byte> bytes,
                            const char* name) {
  TRY(process_.check("NVIDIA's devices"));
  Result<int> answer = file.ioctl(request_of(escape, bytes.size()), bytes.data());
  if (answer) [[likely]]
    return {};
  Error error = fail(answer.error().kind, "the ioctl of {} ({} bytes) is refused: {}", name,
                     bytes.size(), answer.error().message);
  error.os_errno = answer.error().os_errno;
  return error;
}

Result<u32> RmClient::allocate_raw(u32 parent, u32 class_id, std::span<std::byte> parameters,
                                   const std::string& what) {
  hw::RmAlloc request{.root = handle_, .object_parent = parent, .class_id = class_id};
  if (!parameters.empty()) {
    request.params = reinterpret_cast<u64>(parameters.data());
    request.params_size = static_cast<u32>(parameters.size());
  }
  TRY(escape(*file_, request));
  if (request.status != 0)
    return refusal(request.status, fmt::format("NV_ESC_RM_ALLOC of {} (class {:#x}, parent {:#x})",
                                               what, class_id, parent));
  return request.object_new;
}

Result<void> RmClient::free(u32 parent, u32 object) {
  hw::RmFree request{.root = handle_, .object_parent = parent, .object_old = object};
  TRY(escape(*file_, request));
  if (request.status != 0)
    return refusal(request.status, fmt::format("NV_ESC_RM_FREE of object {:#x}", object));
  return {};
}

Result<void> RmClient::control_raw(u32 object, u32 command, std::span<std::byte> parameters,
                                   const char* name) {
  hw::RmControl request{.client = handle_, .object = object, .cmd = command};
  request.params = reinterpret_cast<u64>(parameters.data());
  request.params_size = static_cast<u32>(parameters.size());
  TRY(escape(*file_, request));
  if (request.status != 0)
    return refusal(request.status, fmt::format("NV_ESC_RM_CONTROL {:#x} of object {:#x} ({})",
                                               command, object, name));
  return {};
}

}  // namespace doorbell::nv
