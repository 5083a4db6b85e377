// Out-of-line parts of Error: names, and messages made from format strings.
#include "base/util/error.h"

#include <cerrno>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell {

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Invalid: return "invalid";
    case ErrorKind::NotFound: return "not found";
    case ErrorKind::Permission: return "permission";
    case ErrorKind::Unsupported: return "unsupported";
    case ErrorKind::OutOfMemory: return "out of memory";
    case ErrorKind::Corrupt: return "corrupt";
    case ErrorKind::Compile: return "compile";
    case ErrorKind::Timeout: return "timeout";
    case ErrorKind::Busy: return "busy";
    case ErrorKind::DeviceLost: return "device lost";
    case ErrorKind::Os: return "system";
    case ErrorKind::Internal: return "internal";
  }
  UNREACHABLE("error kind {}", static_cast<int>(kind));
}

std::string to_string(const Error& error) {
  std::string device = error.device.empty() ? "" : error.device + ": ";
  return fmt::format("{}: {}{} ({}:{})", name(error.kind), device, error.message, error.file,
                     error.line);
}

namespace detail {

Error make_error(ErrorKind kind, int os_errno, fmt::string_view text, fmt::format_args args,
                 const char* file, int line) {
  std::string message = fmt::vformat(text, args);
  if (os_errno != 0) message += ": " + std::generic_category().message(os_errno);
  return Error(kind, std::move(message), os_errno, file, line);
}

ErrorKind kind_of_errno(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENXIO:
    case ENODEV: return ErrorKind::NotFound;
    case EACCES:
    case EPERM: return ErrorKind::Permission;
    case ENOMEM:
    case ENOSPC: return ErrorKind::OutOfMemory;
    case ETIME:
    case ETIMEDOUT: return ErrorKind::Timeout;
    case EBUSY: return ErrorKind::Busy;
    case ENOSYS:
    case ENOTTY:
    case EOPNOTSUPP: return ErrorKind::Unsupported;
    default: return ErrorKind::Os;
  }
}

void no_value(const Error& error) {
  std::string message = "asked a failure for its value; the failure: " + to_string(error);
  throw InternalError(ErrorKind::Internal, std::move(message), error.os_errno, error.file,
                      error.line);
}

}  // namespace detail
}  // namespace doorbell
