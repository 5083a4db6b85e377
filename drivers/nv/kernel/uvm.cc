// Opening /dev/nvidia-uvm.
#include "drivers/nv/kernel/uvm.h"

#include "drivers/nv/hw/rm/status.h"

namespace doorbell::nv {
namespace {

constexpr const char* kNode = "/dev/nvidia-uvm";

Error open_error(const Error& error) {
  switch (error.kind) {
    case ErrorKind::NotFound:
      return fail(ErrorKind::NotFound,
                  "{} does not exist: the kernel module nvidia_uvm is not loaded (modprobe "
                  "nvidia-uvm; nvidia-modprobe -u -c 0 makes the node)",
                  kNode);
    case ErrorKind::Permission:
      return fail(ErrorKind::Permission, "{} cannot be opened: give the user access to it", kNode);
    default: return error;
  }
}

}  // namespace

Result<std::unique_ptr<Uvm>> Uvm::open(os::Files& files, hw::DriverAbi abi) {
  Result<std::unique_ptr<os::File>> file = files.open(kNode, os::Access::ReadWrite);
  if (!file) return open_error(file.error());
  Result<std::unique_ptr<os::File>> second = files.open(kNode, os::Access::ReadWrite);
  if (!second) return open_error(second.error());
  std::unique_ptr<Uvm> uvm(new Uvm(abi, std::move(*file), std::move(*second)));
  hw::UvmInitialize start;
  TRY(uvm->call(start));
  // Kernels refuse this where they do not need it, also from CUDA.
  hw::UvmMmInitialize keep{.uvm_fd = uvm->file_->descriptor()};
  (void)uvm->call(*uvm->second_, keep);
  return uvm;
}

Result<void> Uvm::send(os::File& file, u32 request, std::span<std::byte> bytes, const char* name) {
  TRY(process_.check("NVIDIA's devices"));
  Result<int> answer = file.ioctl(request, bytes.data());
  if (answer) [[likely]]
    return {};
  Error error =
      fail(answer.error().kind, "the ioctl of {} is refused: {}", name, answer.error().message);
  error.os_errno = answer.error().os_errno;
  return error;
}

Result<void> Uvm::check(u32 status, const char* name) {
  if (status == 0) [[likely]]
    return {};
  using enum hw::RmStatus;
  const auto known = static_cast<hw::RmStatus>(status);
  const ErrorKind kind = known == NoMemory       ? ErrorKind::OutOfMemory
                         : known == NotSupported ? ErrorKind::Unsupported
                                                 : ErrorKind::Os;
  return fail(kind, "{} is refused: {}", name, hw::describe_status(status));
}

}  // namespace doorbell::nv
