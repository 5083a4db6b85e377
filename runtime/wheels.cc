// site-packages, by the environment.
#include "runtime/wheels.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/os/host.h"
#include "runtime/environment.h"

namespace doorbell::runtime {
namespace {

// Where the file lies that holds this very function: the Python module, or a program.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const usize slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Of an environment's folder: <prefix>/lib/python3.11/site-packages/<package>.
void add_of(const std::string& prefix, std::string_view package, std::vector<std::string>* found) {
  os::Files& files = os::host_files();
  Result<std::vector<std::string>> versions = files.list(prefix + "/lib");
  if (!versions) return;
  for (const std::string& python : *versions) {
    std::string folder = fmt::format("{}/lib/{}/site-packages/{}", prefix, python, package);
    if (files.exists(folder)) found->push_back(std::move(folder));
  }
}

}  // namespace

std::vector<std::string> wheel_folders(std::string_view package) {
  std::vector<std::string> found;
  std::string beside = fmt::format("{}/../{}", own_folder(), package);
  if (os::host_files().exists(beside)) found.push_back(std::move(beside));
  const std::string active(process_environment().get("VIRTUAL_ENV"));
  if (!active.empty()) add_of(active, package, &found);
  return found;
}

std::vector<std::string> wheel_folders_with_path(std::string_view package) {
  std::vector<std::string> found = wheel_folders(package);
  std::string path(process_environment().get("PATH"));
  for (usize begin = 0; begin < path.size();) {
    usize end = path.find(':', begin);
    if (end == std::string::npos) end = path.size();
    const std::string folder = path.substr(begin, end - begin);
    constexpr std::string_view kBin = "/bin";
    if (folder.ends_with(kBin) && os::host_files().exists(folder + "/python3"))
      add_of(folder.substr(0, folder.size() - kBin.size()), package, &found);
    begin = end + 1;
  }
  return found;
}

}  // namespace doorbell::runtime
