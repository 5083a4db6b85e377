// The folder of this very code, and the build's.
#include "drivers/mpi/find_module.h"

#include <dlfcn.h>

#include "base/util/types.h"

namespace doorbell::mpi {
namespace {

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const usize slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

std::vector<std::string> module_files() {
  const std::string built = DOORBELL_MPI_MODULE;
  if (built.empty()) return {};
  const std::string name = "/libdoorbell_mpi.so", folder = own_folder();
  return {folder + name, folder + "/../" DOORBELL_LIBRARY_FOLDER + name, built, name.substr(1)};
}

}  // namespace doorbell::mpi
