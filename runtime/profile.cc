// The end of a profile, or of a page of graphs: wait for the devices, then write.
#include "runtime/profile.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "core/device/registry.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/graph_log.h"
#include "tensor/export/graph_page.h"

namespace doorbell::runtime {
namespace {

struct Profile {
  hcq::Trace trace;
  engine::GraphLog graphs;
  std::string trace_path, page_path;  // empty: not asked for
};

// Never freed: work may be traced while the process exits.
Profile& profile() {
  static Profile& profile = *new Profile;
  return profile;
}

Result<void> write(const std::string& path, const std::string& text) {
  const std::span bytes(reinterpret_cast<const u8*>(text.data()), text.size());
  return os::replace_file(os::host_files(), path, bytes, os::host_random().next());
}

void write_profile() {
  // A device's errors were reported to those who waited for it; its spans are written all the same.
  for (core::Device* device : core::Registry::instance().open_devices())
    (void)device->synchronize();
  Profile& p = profile();
  const std::vector<hcq::Trace::Span> spans = p.trace.spans();
  if (!p.trace_path.empty()) {
    if (Result<void> written = write(p.trace_path, p.trace.json()); written)
      log().info("trace: {} spans in {}", spans.size(), p.trace_path);
    else
      log().error("no trace: {}", written.error().message);
  }
  if (!p.page_path.empty()) {
    if (Result<void> written = write(p.page_path, detail::graph_page(p.graphs, spans)); !written)
      log().error("no page of graphs: {}", written.error().message);
  }
}

// Once a process, whatever is written at its end.
Result<void> write_at_exit(const char* why) {
  static const bool registered = std::atexit(write_profile) == 0;
  if (!registered)
    return fail(ErrorKind::Os, "{}: the process takes no more handlers of its exit", why);
  hcq::Trace::set_of_process(&profile().trace);
  return {};
}

// A program may change its folder before it exits.
Result<std::string> absolute(const char* setting, const std::string& name) {
  std::error_code why;
  std::string path = std::filesystem::absolute(name, why).string();
  if (why) return fail(ErrorKind::Os, "{}={}: {}", setting, name, why.message());
  return path;
}

}  // namespace

Result<void> start_profile(const std::string& path) {
  const std::string name =
      path.empty() ? "doorbell-" + std::to_string(getpid()) + ".trace.json" : path;
  TRY(profile().trace_path, absolute("PROFILE_FILE", name));
  if (!log().should_log(spdlog::level::info)) set_log_level(LogLevel::Info);
  return write_at_exit("PROFILE=1");
}

Result<void> start_graph_page(const std::string& path) {
  TRY(profile().page_path, absolute("GRAPH_FILE", path));
  engine::GraphLog::set_of_process(&profile().graphs);
  return write_at_exit("GRAPH_FILE");
}

}  // namespace doorbell::runtime
