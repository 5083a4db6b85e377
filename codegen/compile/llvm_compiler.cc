// Loads the LLVM module; thin classes over it.
#include "codegen/compile/llvm_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/os/library.h"
#include "base/util/try.h"
#include "codegen/compile/build_id.h"
#include "codegen/compile/llvm/llvm_api.h"
#include "codegen/compile/llvm_build.h"
#include "codegen/render/cpu_caps.h"

namespace doorbell::codegen {

namespace {

// The folder of the file that contains this function.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || !info.dli_fname) return ".";
  std::string path = info.dli_fname;
  usize slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Loaded once, never unloaded: LLVM's statics cannot be initialised twice.
class Module {
 public:
  explicit Module(std::string path) : path_(std::move(path)) {}

  Result<const LlvmApi*> get() {
    std::lock_guard lock(mutex_);
    if (api_ != nullptr) return api_;
    if (!has_llvm()) {
      return fail(ErrorKind::Unsupported, "this build has no LLVM; use the CLANG renderer");
    }
    std::string tried;
    for (const std::string& name : candidates()) {
      Result<const LlvmApi*> api = open(name);
      if (api) return api_ = *api;
      tried += (tried.empty() ? "" : "; ") + api.error().message;
    }
    return fail(ErrorKind::NotFound, "no LLVM module of this build: {}", tried);
  }

 private:
  // Tried in this order: beside the program, where programs install it, where it was installed,
  // where it was built, and the system's library path.
  std::vector<std::string> candidates() const {
    if (!path_.empty()) return {path_};
    const std::string name = "/libdoorbell_llvm.so", folder = own_folder();
    return {folder + name, folder + "/../" + kLibraryFolder + name,
            std::string(kPrefix) + "/" + kLibraryFolder + name, kLlvmModulePath, name.substr(1)};
  }

  // Rejects a module of another build: the interface has no fixed binary layout.
  static Result<const LlvmApi*> open(const std::string& name) {
    TRY(os::Library library, os::Library::open(std::span(&name, 1)));
    TRY(auto* function, library.function<const LlvmApi*()>(kLlvmApiSymbol));
    const std::string found = build_id_at(reinterpret_cast<const void*>(function));
    if (found != kLlvmModuleBuildId) {
      return fail(ErrorKind::Unsupported, "{} has build id {}, expected {}", name, found,
                  kLlvmModuleBuildId);
    }
    keep(std::move(library));
    return function();
  }

  // Always reachable, so that leak checkers do not report it.
  static void keep(os::Library library) {
    static std::mutex mutex;
    static auto& kept = *new std::vector<std::unique_ptr<os::Library>>;
    std::lock_guard lock(mutex);
    kept.push_back(std::make_unique<os::Library>(std::move(library)));
  }

  std::mutex mutex_;
  const std::string path_;
  const LlvmApi* api_ = nullptr;
};

class LlvmRenderer final : public Renderer {
 public:
  LlvmRenderer(Caps caps, LlvmTarget target, std::string path)
      : caps_(caps), target_(std::move(target)), module_(std::move(path)) {}
  std::string_view name() const override { return "LLVM"; }
  const Caps& caps() const override { return caps_; }
  std::string render(const LinearProgram& program) const override {
    auto api = module_.get();
    return api ? (*api)->print_ir(target_, program) : "; " + to_string(api.error());
  }

 private:
  const Caps caps_;
  const LlvmTarget target_;
  mutable Module module_;
};

class LlvmCompiler final : public Compiler {
 public:
  LlvmCompiler(LlvmTarget target, std::string path)
      : target_(std::move(target)),
        module_(std::move(path)),
        key_(fmt::format("LLVM {} {} {} {}", kLlvmVersion, kLlvmModuleBuildId,
                         target_.chip.empty() ? cpu_identity() : target_.chip, target_.ptx)) {}
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return false; }
  Result<std::vector<u8>> compile(const LinearProgram& program, std::string_view) const override {
    TRY(const LlvmApi* api, module_.get());
    return api->compile(target_, program);
  }
  Result<std::string> disassemble(std::span<const u8> binary) const override {
    TRY(const LlvmApi* api, module_.get());
    return api->disassemble(target_, binary);
  }

 private:
  const LlvmTarget target_;
  mutable Module module_;
  const std::string key_;
};

}  // namespace

bool has_llvm() { return kLlvmVersion[0] != '\0'; }

std::unique_ptr<Renderer> make_llvm_renderer(Caps caps, LlvmTarget target,
                                             std::string module_path) {
  return std::make_unique<LlvmRenderer>(caps, std::move(target), std::move(module_path));
}

std::unique_ptr<Compiler> make_llvm_compiler(LlvmTarget target, std::string module_path) {
  return std::make_unique<LlvmCompiler>(std::move(target), std::move(module_path));
}

}  // namespace doorbell::codegen
