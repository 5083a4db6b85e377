// What is thrown where a computation was stopped.
#include "tensor/engine/must.h"

#include <utility>

#include "base/util/stop.h"
#include "core/device/buffer.h"
#include "core/device/device.h"

namespace doorbell::engine {
namespace {

[[noreturn]] void throw_stopped(const Error& error) {
  Stopped stopped(error.kind, error.message, error.os_errno, error.file, error.line);
  stopped.device = error.device;
  throw stopped;
}

}  // namespace

void throw_error(Error error) {
  if (error.kind == ErrorKind::Timeout && stop_asked()) throw_stopped(error);
  throw error;
}

void end_if_stopped() {
  if (stop_asked()) [[unlikely]]
    throw_stopped(fail(ErrorKind::Timeout, "the computation was stopped"));
}

void refuse_poisoned(const core::Buffer& buffer) {
  if (!buffer.is_poisoned()) [[likely]]
    return;
  Error error = fail(ErrorKind::Timeout,
                     "a tensor has no value: the computation of it was stopped; compute it again");
  error.device = buffer.device().name();
  throw_stopped(error);
}

}  // namespace doorbell::engine
