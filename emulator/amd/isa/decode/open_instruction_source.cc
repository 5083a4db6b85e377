// Finds and opens the decoder's module.
#include <dlfcn.h>

#include <mutex>

#include "base/os/library.h"
#include "base/util/try.h"
#include "emulator/amd/isa/decode/decoder_build.h"
#include "emulator/amd/isa/decode/instruction_source.h"

namespace doorbell::emu::amdgpu {

namespace {

// The folder of the file that contains this function.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const usize slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Never closed: LLVM's statics cannot be initialised twice.
struct Opened {
  os::Library library;
  const InstructionSources* sources;
};

}  // namespace

Result<const InstructionSources*> instruction_sources() {
  static std::mutex mutex;
  static const Opened* opened = nullptr;
  std::lock_guard lock(mutex);
  if (opened != nullptr) return opened->sources;
  if (kLlvmVersion[0] == '\0') {
    return fail(ErrorKind::Unsupported, "this build has no LLVM, which decodes AMD's instructions");
  }
  const std::string name = "/libdoorbell_amd_decoder.so", folder = own_folder();
  const std::string candidates[] = {kLlvmModulePath, folder + name,
                                    folder + "/../" + kLibraryFolder + name,
                                    std::string(kPrefix) + "/" + kLibraryFolder + name};
  TRY(os::Library library, os::Library::open(candidates));
  TRY(auto* function, library.function<const InstructionSources*()>(kInstructionSourcesSymbol));
  opened = new Opened{std::move(library), function()};
  return opened->sources;
}

}  // namespace doorbell::emu::amdgpu
