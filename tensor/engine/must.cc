// What is thrown where a computation was stopped.
#include "tensor/engine/must.h"

#include <utility>

#include "base/util/stop.h"
#include "core/device/buffer.h"
#include "core/device/device.h"
#include "core/device/registry.h"
#include "hcq/software/launch_device.h"

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

Result<void> exchanges_work() {
  core::Communicator* others = core::Registry::instance().communicator();
  if (others == nullptr) [[likely]]
    return {};
  auto* device = dynamic_cast<hcq::LaunchDevice*>(&others->device());
  return device == nullptr ? Result<void>() : device->usable();
}

void refuse_poisoned(const core::Buffer& buffer) {
  if (!buffer.is_poisoned()) [[likely]]
    return;
  // An exchange that failed is the reason: its error says which process is missing.
  if (Result<void> works = exchanges_work(); !works) {
    (void)buffer.device().synchronize();  // the queue need not tell it again
    throw_error(std::move(works).error());
  }
  Error error = fail(ErrorKind::Timeout,
                     "a tensor has no value: the computation of it was stopped; compute it again");
  error.device = buffer.device().name();
  throw_stopped(error);
}

}  // namespace doorbell::engine
