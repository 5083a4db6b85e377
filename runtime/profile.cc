// The end of a profile: wait for the devices, then write.
#include "runtime/profile.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "base/os/host.h"
#include "base/util/log.h"
#include "core/device/registry.h"
#include "hcq/trace/trace.h"

namespace doorbell::runtime {
namespace {

struct Profile {
  hcq::Trace trace;
  std::string path;
};

// Never freed: work may be traced while the process exits.
Profile& profile() {
  static Profile& profile = *new Profile;
  return profile;
}

void write_profile() {
  // What a device got wrong has been told to whoever waited for it; its spans count all the same.
  for (core::Device* device : core::Registry::instance().open_devices())
    (void)device->synchronize();
  const std::string text = profile().trace.json();
  const std::span bytes(reinterpret_cast<const u8*>(text.data()), text.size());
  Result<void> written =
      os::replace_file(os::host_files(), profile().path, bytes, os::host_random().next());
  if (written)
    log().info("trace: {} spans in {}", profile().trace.spans().size(), profile().path);
  else
    log().error("no trace: {}", written.error().message);
}

}  // namespace

Result<void> start_profile(const std::string& path) {
  // A program may change its folder before it exits.
  const std::string name =
      path.empty() ? "doorbell-" + std::to_string(getpid()) + ".trace.json" : path;
  std::error_code why;
  profile().path = std::filesystem::absolute(name, why).string();
  if (why) return fail(ErrorKind::Os, "PROFILE_FILE={}: {}", name, why.message());
  if (!log().should_log(spdlog::level::info)) set_log_level(LogLevel::Info);
  hcq::Trace::set_of_process(&profile().trace);
  if (std::atexit(write_profile) != 0)
    return fail(ErrorKind::Os, "PROFILE=1: the process takes no more handlers of its exit");
  return {};
}

}  // namespace doorbell::runtime
