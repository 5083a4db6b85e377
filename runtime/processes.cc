// Launchers by the variables that they set, and the module.
#include "runtime/processes.h"

#include "base/os/host.h"
#include "base/util/first_error.h"
#include "base/util/try.h"
#include "core/util/config.h"
#include "drivers/cuda/nccl/communicator.h"
#include "drivers/cuda/settings.h"
#include "drivers/mpi/communicator.h"
#include "drivers/mpi/find_module.h"
#include "drivers/nv/settings.h"
#include "runtime/device_kind.h"
#include "runtime/environment.h"
#include "runtime/siblings.h"
#include "runtime/wheels.h"

namespace doorbell::runtime {
namespace {

struct Launcher {
  const char* variable;
  const char* name;
};

// The first that is set. [Open MPI FAQ, "environment variables"; PMI-1's PMI_RANK, which MPICH's
// Hydra and Slurm's pmi2 set; PMIx's PMIX_RANK]
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
                                   {"PMIX_RANK", "a launcher of PMIx"},
                                   {"PMI_RANK", "a launcher of PMI"}};

// MPI does not know who is missing before it has started.
Error told_who(Error error) {
  const std::string missing = missing_siblings(os::host_files(), process_environment());
  if (!missing.empty()) error.message += ": " + missing;
  return error;
}

constinit mpi::Link* joined_by = nullptr;

// In CUDA_PATH, beside the Python module, in the virtual environment, and where the system looks.
std::vector<std::string> nccl_files() {
  constexpr const char* kName = "libnccl.so.2";
  std::vector<std::string> folders = wheel_folders("nvidia"), files;
  const auto settings = read_settings<nv::Settings>(setting_values(core::config()));
  if (settings && !settings->cuda_path.empty())
    folders.insert(folders.begin(), settings->cuda_path);
  for (const std::string& folder : folders)
    for (const char* within : {"nccl/lib", "lib", "lib64"})
      files.push_back(fmt::format("{}/{}/{}", folder, within, kName));
  files.push_back(kName);
  return files;
}

Result<const cuda::nccl::Api*> load_nccl() {
  TRY(const cuda::Settings settings, read_settings<cuda::Settings>(setting_values(core::config())));
  if (settings.nccl == "0") return fail(ErrorKind::Unsupported, "NCCL=0");
  const bool is_path = !settings.nccl.empty() && settings.nccl != "1";
  return cuda::nccl::load(is_path ? std::vector{settings.nccl} : nccl_files());
}

}  // namespace

mpi::Link* process_link() { return joined_by; }

Result<std::string> launcher(const os::Environment& environment) {
  for (const auto& [variable, name] : kLaunchers)
    if (!environment.get(variable).empty()) return std::string(name);
  if (!environment.get("SLURM_PROCID").empty() && environment.get("SLURM_STEP_NUM_TASKS") != "1")
    return fail(
        ErrorKind::NotFound,
        "Slurm started this process without MPI: use srun --mpi=pmix, or mpirun in the job");
  if (!environment.get("TORCHELASTIC_RUN_ID").empty())
    return fail(ErrorKind::NotFound,
                "torchrun started this process, which MPI cannot join: use mpirun -n {} instead",
                environment.get("WORLD_SIZE"));
  return fail(ErrorKind::NotFound,
              "this process was started alone: start the program by mpirun -n 4, or srun");
}

Result<core::Communicator*> connect_processes(const dist::InitOptions& options) {
  TRY(launcher(process_environment()));
  mpi::LinkOptions link_options{.modules = mpi::module_files(),
                                .timeout_ns = static_cast<u64>(options.timeout_s * 1e9)};
  if (link_options.modules.empty())
    return fail(ErrorKind::Unsupported,
                "this build has no MPI: build it with -Dmpi=enabled, where mpi.h is installed");
  // A start that the others did not take part in goes on: MPI cannot start again.
  static FirstError& lost = *new FirstError;
  TRY(lost.check());
  TRY(const cuda::Settings settings, read_settings<cuda::Settings>(setting_values(core::config())));
  cuda::nccl::Options nccl_options{.must = !settings.nccl.empty() && settings.nccl != "0",
                                   .load = load_nccl};
  Result<mpi::Link*> link = mpi::Link::open(link_options, os::host_clock());
  if (!link) {
    if (link.error().kind == ErrorKind::Timeout) lost.set(told_who(link.error()));
    return lost.is_set() ? lost.check().error() : link.error();
  }
  joined_by = *link;
  // Never freed: work may outlive main().
  static mpi::MpiCommunicator& mpi = *new mpi::MpiCommunicator(**link);
  static cuda::nccl::NcclCommunicator& communicator =
      *new cuda::nccl::NcclCommunicator(mpi, std::move(nccl_options));
  return &communicator;
}

}  // namespace doorbell::runtime
