// NVRTC's C interface, declared here: the few functions that are called.
// [docs.nvidia.com/cuda/nvrtc, "User Interface": General Information Query, Compilation; the same
// in 12 and 13]
#include "codegen/compile/nvrtc_compiler.h"

#include <fmt/format.h>

#include <array>

#include "base/util/try.h"
#include "codegen/compile/nvdisasm.h"

namespace doorbell::codegen {
namespace {

using Status = int;  // nvrtcResult; 0: NVRTC_SUCCESS
using Program = void*;

// By default a product and a sum may be fused, as by all renderers, quotients and roots are rounded
// once, and subnormals are kept.
constexpr const char* kOptions[] = {"--std=c++17", "--disable-warnings"};

struct Nvrtc {
  const os::Library* library = nullptr;  // never unloaded
  int major = 0, minor = 0;
  Status (*version)(int*, int*) = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*chip_count)(int*) = nullptr;
  Status (*chips)(int*) = nullptr;
  Status (*create)(Program*, const char*, const char*, int, const char* const*,
                   const char* const*) = nullptr;
  Status (*destroy)(Program*) = nullptr;
  Status (*compile)(Program, int, const char* const*) = nullptr;
  Status (*log_size)(Program, usize*) = nullptr;
  Status (*log)(Program, char*) = nullptr;
  Status (*cubin_size)(Program, usize*) = nullptr;
  Status (*cubin)(Program, char*) = nullptr;

  Result<void> find_functions();
  Result<void> check_chip(std::string_view chip) const;
};

template <class Signature>
Result<void> find(const os::Library& library, const char* name, Signature** function) {
  TRY(*function, library.function<Signature>(name));
  return {};
}

Result<void> Nvrtc::find_functions() {
  TRY(find(*library, "nvrtcVersion", &version));
  TRY(find(*library, "nvrtcGetErrorString", &error_string));
  TRY(find(*library, "nvrtcGetNumSupportedArchs", &chip_count));
  TRY(find(*library, "nvrtcGetSupportedArchs", &chips));
  TRY(find(*library, "nvrtcCreateProgram", &create));
  TRY(find(*library, "nvrtcDestroyProgram", &destroy));
  TRY(find(*library, "nvrtcCompileProgram", &compile));
  TRY(find(*library, "nvrtcGetProgramLogSize", &log_size));
  TRY(find(*library, "nvrtcGetProgramLog", &log));
  TRY(find(*library, "nvrtcGetCUBINSize", &cubin_size));
  TRY(find(*library, "nvrtcGetCUBIN", &cubin));
  version(&major, &minor);
  return {};
}

Result<void> Nvrtc::check_chip(std::string_view chip) const {
  int count = 0;
  if (chip_count(&count) != 0 || count < 0) count = 0;
  std::vector<int> known(static_cast<usize>(count));
  if (count > 0 && chips(known.data()) != 0) known.clear();
  std::string names;
  for (const int number : known) {
    const std::string name = fmt::format("sm_{}", number);
    if (name == chip || name + "a" == chip) return {};  // sm_90a: with what only sm_90 has
    names += (names.empty() ? "" : ", ") + name;
  }
  return fail(ErrorKind::Unsupported, "NVRTC {}.{} ({}) does not know {}; it knows {}", major,
              minor, library->name(), chip, names);
}

// A program that is destroyed at the end of its scope.
struct Owned {
  explicit Owned(const Nvrtc& n) : nvrtc(n) {}
  ~Owned() {
    if (program != nullptr) nvrtc.destroy(&program);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  std::string log() const {
    usize size = 0;
    if (nvrtc.log_size(program, &size) != 0 || size == 0) return "";
    std::string text(size, '\0');
    nvrtc.log(program, text.data());
    return text.substr(0, text.find('\0'));
  }
  const Nvrtc& nvrtc;
  Program program = nullptr;
};

class NvrtcCompiler final : public Compiler {
 public:
  NvrtcCompiler(Nvrtc nvrtc, const std::string& chip, CudaFolders where)
      : nvrtc_(nvrtc),
        where_(std::move(where)),
        architecture_("--gpu-architecture=" + chip),
        key_(fmt::format("NVRTC {}.{} {}", nvrtc.major, nvrtc.minor, architecture_)) {
    for (const char* option : kOptions) key_.append(" ").append(option);
  }
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override;
  Result<std::string> disassemble(std::span<const u8> binary) const override {
    return disassemble_cubin(where_, binary);
  }

 private:
  Result<void> check(Status status, std::string_view function) const {
    if (status == 0) return {};
    return fail(ErrorKind::Compile, "{} gave status {}: {}", function, status,
                nvrtc_.error_string(status));
  }

  const Nvrtc nvrtc_;
  const CudaFolders where_;
  const std::string architecture_;
  std::string key_;
};

Result<std::vector<u8>> NvrtcCompiler::compile(const LinearProgram& program,
                                               std::string_view source) const {
  Owned made(nvrtc_);
  const std::string text(source), name = program.name + ".cu";
  TRY(check(nvrtc_.create(&made.program, text.c_str(), name.c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram"));
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(architecture_.c_str());
  const Status status =
      nvrtc_.compile(made.program, static_cast<int>(options.size()), options.data());
  if (status != 0)
    return fail(ErrorKind::Compile, "kernel {}: NVRTC: {}\n{}\n{}", program.name,
                nvrtc_.error_string(status), made.log(), source);
  usize size = 0;
  TRY(check(nvrtc_.cubin_size(made.program, &size), "nvrtcGetCUBINSize"));
  std::vector<u8> cubin(size);
  TRY(check(nvrtc_.cubin(made.program, reinterpret_cast<char*>(cubin.data())), "nvrtcGetCUBIN"));
  return cubin;
}

Result<Nvrtc> open_nvrtc(const CudaFolders& where) {
  Nvrtc nvrtc;
  TRY(nvrtc.library,
      open_cuda_library(where, "libnvrtc",
                        "the CUDA renderer compiles with NVRTC, of a CUDA toolkit or `pip install "
                        "nvidia-cuda-nvrtc`"));
  TRY(nvrtc.find_functions());
  return nvrtc;
}

}  // namespace

Result<std::string> describe_nvrtc(const CudaFolders& where) {
  TRY(const Nvrtc nvrtc, open_nvrtc(where));
  return fmt::format("NVRTC {}.{} in {}", nvrtc.major, nvrtc.minor, nvrtc.library->name());
}

Result<int> ptx_of_nvrtc(const CudaFolders& where) {
  TRY(const Nvrtc nvrtc, open_nvrtc(where));
  return newest_ptx(nvrtc.major, nvrtc.minor);
}

Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(std::string chip, CudaFolders where) {
  TRY(Nvrtc nvrtc, open_nvrtc(where));
  TRY(nvrtc.check_chip(chip));
  return std::unique_ptr<Compiler>(std::make_unique<NvrtcCompiler>(nvrtc, chip, std::move(where)));
}

}  // namespace doorbell::codegen
