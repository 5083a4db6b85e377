// comgr's C interface, declared here: two of its versions differ in a few numbers.
// [ROCm/llvm-project, amd/comgr/include/amd_comgr.h.in, of comgr 2.4 and 3.0]
#include "codegen/compile/comgr_compiler.h"

#include <fmt/format.h>

#include <mutex>

#include "base/os/library.h"
#include "base/util/try.h"
#include "codegen/compile/llvm_compiler.h"

namespace doorbell::codegen {
namespace {

using Status = int;
struct Handle {
  u64 value = 0;
};

enum DataKind : int { kSource = 1, kLog = 5, kBitcode = 6, kRelocatable = 7 };
constexpr int kCompileSourceToBitcode = 2;
// Numbers that version 3 changed.
struct Numbers {
  int language_hip, codegen_to_relocatable;
};
constexpr Numbers kVersion2{4, 6}, kVersion3{3, 4};

struct Comgr {
  explicit Comgr(os::Library opened) : library(std::move(opened)) {}

  os::Library library;
  Numbers numbers{};
  std::string version;
  void (*get_version)(usize*, usize*) = nullptr;
  Status (*isa_count)(usize*) = nullptr;
  Status (*isa_name)(usize, const char**) = nullptr;
  Status (*create_data)(int, Handle*) = nullptr;
  Status (*release_data)(Handle) = nullptr;
  Status (*set_data)(Handle, usize, const char*) = nullptr;
  Status (*set_data_name)(Handle, const char*) = nullptr;
  Status (*get_data)(Handle, usize*, char*) = nullptr;
  Status (*create_set)(Handle*) = nullptr;
  Status (*destroy_set)(Handle) = nullptr;
  Status (*set_add)(Handle, Handle) = nullptr;
  Status (*set_get)(Handle, int, usize, Handle*) = nullptr;
  Status (*create_action)(Handle*) = nullptr;
  Status (*destroy_action)(Handle) = nullptr;
  Status (*action_isa)(Handle, const char*) = nullptr;
  Status (*action_language)(Handle, int) = nullptr;
  Status (*action_options)(Handle, const char**, usize) = nullptr;
  Status (*action_logging)(Handle, bool) = nullptr;
  Status (*do_action)(int, Handle, Handle, Handle) = nullptr;

  Result<void> find_functions();
  bool knows(const std::string& isa) const;
};

template <class Signature>
Result<void> find(const os::Library& library, const char* name, Signature** function) {
  TRY(*function, library.function<Signature>(name));
  return {};
}

Result<void> Comgr::find_functions() {
  TRY(find(library, "amd_comgr_get_version", &get_version));
  TRY(find(library, "amd_comgr_get_isa_count", &isa_count));
  TRY(find(library, "amd_comgr_get_isa_name", &isa_name));
  TRY(find(library, "amd_comgr_create_data", &create_data));
  TRY(find(library, "amd_comgr_release_data", &release_data));
  TRY(find(library, "amd_comgr_set_data", &set_data));
  TRY(find(library, "amd_comgr_set_data_name", &set_data_name));
  TRY(find(library, "amd_comgr_get_data", &get_data));
  TRY(find(library, "amd_comgr_create_data_set", &create_set));
  TRY(find(library, "amd_comgr_destroy_data_set", &destroy_set));
  TRY(find(library, "amd_comgr_data_set_add", &set_add));
  TRY(find(library, "amd_comgr_action_data_get_data", &set_get));
  TRY(find(library, "amd_comgr_create_action_info", &create_action));
  TRY(find(library, "amd_comgr_destroy_action_info", &destroy_action));
  TRY(find(library, "amd_comgr_action_info_set_isa_name", &action_isa));
  TRY(find(library, "amd_comgr_action_info_set_language", &action_language));
  TRY(find(library, "amd_comgr_action_info_set_option_list", &action_options));
  TRY(find(library, "amd_comgr_action_info_set_logging", &action_logging));
  TRY(find(library, "amd_comgr_do_action", &do_action));
  usize major = 0, minor = 0;
  get_version(&major, &minor);
  version = fmt::format("{}.{}", major, minor);
  numbers = major >= 3 ? kVersion3 : kVersion2;
  return {};
}

bool Comgr::knows(const std::string& isa) const {
  usize count = 0;
  if (isa_count(&count) != 0) return false;
  for (usize i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (isa_name(i, &name) == 0 && isa == name) return true;
  }
  return false;
}

// A handle that is released at the end of its scope.
struct Owned {
  using Release = Status (*)(Handle);
  explicit Owned(Release r) : release(r) {}
  ~Owned() {
    if (handle.value != 0) release(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle handle;
  Release release;
};

// Ints wrap; pointers of any type may alias, except restrict ones; a private array stays in private
// memory (docs/hw/amd-code-objects.md).
constexpr const char* kCompileOptions[] = {
    "-O3",     "-std=c++14",           "-nogpuinc",          "-nogpulib",
    "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=fast", "-w"};
constexpr const char* kCodegenOptions[] = {"-O3", "-mllvm", "-disable-promote-alloca-to-lds"};

class ComgrCompiler final : public Compiler {
 public:
  ComgrCompiler(const Comgr* comgr, std::string chip)
      : comgr_(comgr),
        isa_("amdgcn-amd-amdhsa--" + chip),
        key_(fmt::format("comgr {} {} 1", comgr_->version, isa_)),
        disassembler_(make_llvm_compiler({LlvmTarget::Family::Amd, chip})) {}

  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override;
  Result<std::string> disassemble(std::span<const u8> binary) const override {
    return disassembler_->disassemble(binary);
  }

 private:
  Result<void> add_source(Handle set, const std::string& name, std::string_view text) const;
  // do_action; an error contains comgr's log.
  Result<void> act(int action, std::span<const char* const> options, Handle from, Handle to) const;
  Result<std::vector<u8>> data_of(Handle set, int kind) const;

  const Comgr* const comgr_;  // owned by keep()
  const std::string isa_, key_;
  const std::unique_ptr<Compiler> disassembler_;
};

Result<void> check(Status status, std::string_view call) {
  if (status == 0) return {};
  return fail(ErrorKind::Compile, "comgr: {} gave status {}", call, status);
}

Result<void> ComgrCompiler::add_source(Handle set, const std::string& name,
                                       std::string_view text) const {
  Owned data(comgr_->release_data);
  TRY(check(comgr_->create_data(kSource, &data.handle), "create_data"));
  TRY(check(comgr_->set_data(data.handle, text.size(), text.data()), "set_data"));
  TRY(check(comgr_->set_data_name(data.handle, (name + ".hip").c_str()), "set_data_name"));
  return check(comgr_->set_add(set, data.handle), "data_set_add");
}

Result<std::vector<u8>> ComgrCompiler::data_of(Handle set, int kind) const {
  Owned data(comgr_->release_data);
  usize size = 0;
  TRY(check(comgr_->set_get(set, kind, 0, &data.handle), "action_data_get_data"));
  TRY(check(comgr_->get_data(data.handle, &size, nullptr), "get_data"));
  std::vector<u8> bytes(size);
  TRY(check(comgr_->get_data(data.handle, &size, reinterpret_cast<char*>(bytes.data())),
            "get_data"));
  return bytes;
}

Result<void> ComgrCompiler::act(int action, std::span<const char* const> options, Handle from,
                                Handle to) const {
  Owned info(comgr_->destroy_action);
  std::vector<const char*> list(options.begin(), options.end());
  TRY(check(comgr_->create_action(&info.handle), "create_action_info"));
  TRY(check(comgr_->action_language(info.handle, comgr_->numbers.language_hip), "set_language"));
  TRY(check(comgr_->action_isa(info.handle, isa_.c_str()), "set_isa_name"));
  TRY(check(comgr_->action_logging(info.handle, true), "set_logging"));
  TRY(check(comgr_->action_options(info.handle, list.data(), list.size()), "set_option_list"));
  // One at a time: -mllvm sets options that all threads in comgr's LLVM share, and two threads
  // crash.
  static std::mutex& mutex = *new std::mutex;
  const Status status = [&] {
    std::lock_guard lock(mutex);
    return comgr_->do_action(action, info.handle, from, to);
  }();
  if (status == 0) return {};
  Result<std::vector<u8>> log = data_of(to, kLog);
  const std::string text = log ? std::string(log->begin(), log->end()) : to_string(log.error());
  return fail(ErrorKind::Compile, "comgr: action {} gave status {}\n{}", action, status, text);
}

Result<std::vector<u8>> ComgrCompiler::compile(const LinearProgram& program,
                                               std::string_view source) const {
  Owned sources(comgr_->destroy_set), bitcode(comgr_->destroy_set), objects(comgr_->destroy_set);
  for (Owned* set : {&sources, &bitcode, &objects})
    TRY(check(comgr_->create_set(&set->handle), "create_data_set"));
  TRY(add_source(sources.handle, program.name, source));
  Result<void> compiled =
      act(kCompileSourceToBitcode, kCompileOptions, sources.handle, bitcode.handle);
  if (!compiled)
    return fail(ErrorKind::Compile, "kernel {}: {}\n{}", program.name, compiled.error().message,
                source);
  TRY(act(comgr_->numbers.codegen_to_relocatable, kCodegenOptions, bitcode.handle, objects.handle));
  return data_of(objects.handle, kRelocatable);
}

// Never unloaded: loaded a second time, it would register its options twice with its LLVM, which
// stays loaded.
Comgr* keep(std::unique_ptr<Comgr> comgr) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Comgr>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(comgr));
  return kept.back().get();
}

}  // namespace

Result<std::unique_ptr<Compiler>> make_comgr_compiler(std::string chip,
                                                      std::vector<std::string> libraries) {
  if (libraries.empty())
    libraries = {"libamd_comgr.so.3", "libamd_comgr.so.2", "/opt/rocm/lib/libamd_comgr.so"};
  Result<os::Library> library = os::Library::open(libraries);
  if (!library)
    return fail(
        ErrorKind::NotFound,
        "the HIP renderer needs AMD's comgr (Debian: libamd-comgr2), the LLVM renderer does "
        "not (DEV=AMD:LLVM): {}",
        library.error().message);
  Comgr* comgr = keep(std::make_unique<Comgr>(std::move(*library)));
  TRY(comgr->find_functions());
  if (!comgr->knows("amdgcn-amd-amdhsa--" + chip))
    return fail(ErrorKind::Unsupported,
                "comgr {} ({}) does not know {}: use a newer one, or DEV=AMD:LLVM", comgr->version,
                comgr->library.name(), chip);
  return std::unique_ptr<Compiler>(std::make_unique<ComgrCompiler>(comgr, std::move(chip)));
}

}  // namespace doorbell::codegen
