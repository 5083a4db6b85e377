// nvJitLink's C interface, declared here: the few functions that are called.
// [docs.nvidia.com/cuda/nvjitlink, "User Interface"; the same in 12 and 13]
#include "codegen/compile/nvjitlink_compiler.h"

#include <fmt/format.h>

#include "base/util/try.h"
#include "codegen/compile/nvdisasm.h"

namespace doorbell::codegen {
namespace {

using Status = int;  // nvJitLinkResult; 0: NVJITLINK_SUCCESS
using Handle = void*;
constexpr int kInputPtx = 2;  // NVJITLINK_INPUT_PTX

struct JitLink {
  const os::Library* library = nullptr;  // never unloaded
  unsigned major = 0, minor = 0;
  Status (*version)(unsigned*, unsigned*) = nullptr;
  Status (*create)(Handle*, u32, const char**) = nullptr;
  Status (*destroy)(Handle*) = nullptr;
  Status (*add_data)(Handle, int, const void*, usize, const char*) = nullptr;
  Status (*complete)(Handle) = nullptr;
  Status (*cubin_size)(Handle, usize*) = nullptr;
  Status (*cubin)(Handle, void*) = nullptr;
  Status (*log_size)(Handle, usize*) = nullptr;
  Status (*log)(Handle, char*) = nullptr;

  Result<void> find_functions();
};

template <class Signature>
Result<void> find(const os::Library& library, const char* name, Signature** function) {
  TRY(*function, library.function<Signature>(name));
  return {};
}

Result<void> JitLink::find_functions() {
  TRY(find(*library, "nvJitLinkVersion", &version));
  TRY(find(*library, "nvJitLinkCreate", &create));
  TRY(find(*library, "nvJitLinkDestroy", &destroy));
  TRY(find(*library, "nvJitLinkAddData", &add_data));
  TRY(find(*library, "nvJitLinkComplete", &complete));
  TRY(find(*library, "nvJitLinkGetLinkedCubinSize", &cubin_size));
  TRY(find(*library, "nvJitLinkGetLinkedCubin", &cubin));
  TRY(find(*library, "nvJitLinkGetErrorLogSize", &log_size));
  TRY(find(*library, "nvJitLinkGetErrorLog", &log));
  version(&major, &minor);
  return {};
}

// A link that is destroyed at the end of its scope.
struct Owned {
  explicit Owned(const JitLink& j) : link(j) {}
  ~Owned() {
    if (handle != nullptr) link.destroy(&handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  std::string log() const {
    usize size = 0;
    if (handle == nullptr || link.log_size(handle, &size) != 0 || size == 0) return "";
    std::string text(size, '\0');
    link.log(handle, text.data());
    return text.substr(0, text.find('\0'));
  }
  const JitLink& link;
  Handle handle = nullptr;
};

class JitLinkCompiler final : public Compiler {
 public:
  JitLinkCompiler(JitLink link, const std::string& chip, CudaFolders where,
                  std::unique_ptr<Compiler> to_ptx)
      : link_(link),
        where_(std::move(where)),
        to_ptx_(std::move(to_ptx)),
        architecture_("-arch=" + chip),
        key_(fmt::format("{} nvJitLink {}.{} {}", to_ptx_->key(), link.major, link.minor,
                         architecture_)) {}
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return to_ptx_->wants_source(); }
  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override;
  Result<std::string> disassemble(std::span<const u8> binary) const override {
    return disassemble_cubin(where_, binary);
  }

 private:
  const JitLink link_;
  const CudaFolders where_;
  const std::unique_ptr<Compiler> to_ptx_;
  const std::string architecture_;
  const std::string key_;
};

Result<std::vector<u8>> JitLinkCompiler::compile(const LinearProgram& program,
                                                 std::string_view source) const {
  TRY(std::vector<u8> ptx, to_ptx_->compile(program, source));
  // The size counts a terminator, as that of nvrtcGetPTX does; without one, what follows is read.
  ptx.push_back(0);
  Owned made(link_);
  const auto check = [&](Status status, std::string_view function) -> Result<void> {
    if (status == 0) return {};
    return fail(ErrorKind::Compile, "kernel {}: {} of nvJitLink {}.{} gave status {}\n{}\n{}",
                program.name, function, link_.major, link_.minor, status, made.log(),
                std::string(ptx.begin(), ptx.end() - 1));
  };
  const char* options[] = {architecture_.c_str()};
  TRY(check(link_.create(&made.handle, std::size(options), options), "nvJitLinkCreate"));
  TRY(check(link_.add_data(made.handle, kInputPtx, ptx.data(), ptx.size(), program.name.c_str()),
            "nvJitLinkAddData"));
  TRY(check(link_.complete(made.handle), "nvJitLinkComplete"));
  usize size = 0;
  TRY(check(link_.cubin_size(made.handle, &size), "nvJitLinkGetLinkedCubinSize"));
  std::vector<u8> cubin(size);
  TRY(check(link_.cubin(made.handle, cubin.data()), "nvJitLinkGetLinkedCubin"));
  return cubin;
}

Result<JitLink> open_link(const CudaFolders& where) {
  JitLink link;
  TRY(link.library,
      open_cuda_library(where, "libnvJitLink",
                        "the PTX renderer links with nvJitLink, of a CUDA toolkit or `pip install "
                        "nvidia-nvjitlink`"));
  TRY(link.find_functions());
  return link;
}

}  // namespace

Result<std::string> describe_nvjitlink(const CudaFolders& where) {
  TRY(const JitLink link, open_link(where));
  return fmt::format("nvJitLink {}.{} in {}", link.major, link.minor, link.library->name());
}

Result<int> ptx_of_nvjitlink(const CudaFolders& where) {
  TRY(const JitLink link, open_link(where));
  return newest_ptx(static_cast<int>(link.major), static_cast<int>(link.minor));
}

Result<std::unique_ptr<Compiler>> make_nvjitlink_compiler(std::string chip, CudaFolders where,
                                                          std::unique_ptr<Compiler> to_ptx) {
  TRY(JitLink link, open_link(where));
  return std::unique_ptr<Compiler>(
      std::make_unique<JitLinkCompiler>(link, chip, std::move(where), std::move(to_ptx)));
}

}  // namespace doorbell::codegen
