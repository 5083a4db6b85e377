// nvdisasm seeks in what it reads, so it gets a file.
#include "codegen/compile/nvdisasm.h"

#include <fmt/format.h>

#include "base/os/host.h"
#include "base/os/process.h"
#include "base/util/try.h"

namespace doorbell::codegen {

Result<std::string> disassemble_cubin(const CudaFolders& where, std::span<const u8> cubin) {
  const std::string path = fmt::format("/tmp/doorbell-{:016x}.cubin", os::host_random().next());
  os::Files& files = os::host_files();
  {
    TRY(std::unique_ptr<os::File> file, files.open(path, os::Access::Private));
    TRY(file->write_at(0, cubin));
  }
  const std::vector<std::string> command = {find_cuda_program(where, "nvdisasm"), path};
  Result<os::ProcessOutput> output = os::run_process(command);
  TRY(files.remove(path));
  if (!output)
    return fail(ErrorKind::NotFound,
                "disassembly needs NVIDIA's nvdisasm, of a toolkit or `pip install "
                "nvidia-cuda-nvdisasm`: {}",
                output.error().message);
  if (output->exit_status != 0)
    return fail(ErrorKind::Corrupt, "{} ended with {}: {}", command[0], output->exit_status,
                output->error_out);
  return std::move(output->out);
}

}  // namespace doorbell::codegen
