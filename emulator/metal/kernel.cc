// Compiling, and running groups.
#include "emulator/metal/kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/os/library.h"
#include "base/os/process.h"
#include "base/util/try.h"
#include "emulator/metal/fibers.h"

namespace doorbell::emu::metal {
namespace {

// Of one element of a pointer's type, by the text of the type.
u64 element_bytes(const std::string& type) {
  for (const auto& [name, bytes] : {std::pair<const char*, u64>{"uchar", 1},
                                    {"char", 1},
                                    {"ushort", 2},
                                    {"short", 2},
                                    {"half", 2},
                                    {"bfloat", 2},
                                    {"uint", 4},
                                    {"int", 4},
                                    {"float", 4},
                                    {"ulong", 8},
                                    {"long", 8}})
    if (type.find(name) != std::string::npos) return bytes;
  return 1;
}

// ---- kernels ------------------------------------------------------------------------------------

class HostKernel final : public Kernel {
 public:
  static Result<std::shared_ptr<Kernel>> make(const KernelText& text, os::Library library,
                                              bool has_meetings) {
    std::shared_ptr<HostKernel> made(new HostKernel(std::move(library)));
    made->name_ = text.name;
    made->max_items_ = text.max_items;
    made->has_meetings_ = has_meetings;
    for (const KernelText::Parameter& parameter : text.parameters) {
      if (!parameter.attribute.starts_with("buffer(")) continue;
      KernelArgument argument{0, element_bytes(parameter.type)};
      const char* digits = parameter.attribute.data() + std::strlen("buffer(");
      std::from_chars(digits, parameter.attribute.data() + parameter.attribute.size(),
                      argument.index);
      if (argument.index > 30)
        return fail(ErrorKind::Compile, "buffer index {}, at most 30", argument.index);
      made->arguments_.push_back(argument);
    }
    const os::Library& code = made->library_;
    TRY(made->run_, code.function<RunItem>("doorbell_run"));
    TRY(auto begin, code.function<char*()>("doorbell_group_begin"));
    TRY(auto end, code.function<char*()>("doorbell_group_end"));
    TRY(set(code, "doorbell_barrier", wait_at_barrier));
    TRY(set(code, "doorbell_multiply", multiply_matrices));
    made->shared_ = begin();
    made->shared_bytes_ = static_cast<u64>(end() - begin());
    return std::shared_ptr<Kernel>(std::move(made));
  }

  u64 group_bytes() const override { return shared_bytes_; }

  std::optional<KernelFault> run(const void* const* arguments, const Grid& grid) override {
    auto* const* pointers = const_cast<void* const*>(arguments);
    std::vector<Position> items;
    for (u32 z = 0; z < grid.items[2]; ++z)
      for (u32 y = 0; y < grid.items[1]; ++y)
        for (u32 x = 0; x < grid.items[0]; ++x) items.push_back({x, y, z});
    const u64 row = grid.groups[0], plane = row * grid.groups[1];
    for (u64 g = 0; g < plane * grid.groups[2]; ++g) {
      const Position group{static_cast<u32>(g % row), static_cast<u32>(g % plane / row),
                           static_cast<u32>(g / plane)};
      // Nobody has written it yet.
      if (shared_bytes_ > 0) std::memset(shared_, 0xa5, shared_bytes_);
      if (has_meetings_) {
        if (auto wrong = run_group(run_, pointers, group, items)) return wrong;
        continue;
      }
      for (const Position& item : items) run_(pointers, &group, &item);
    }
    return {};
  }

 private:
  explicit HostKernel(os::Library library) : library_(std::move(library)) {}
  // Stores the function where the library has a pointer to one (stdlib.cc).
  template <class Function>
  static Result<void> set(const os::Library& code, const char* name, Function* function) {
    TRY(auto pointer, code.function<void()>(name));
    *reinterpret_cast<Function**>(reinterpret_cast<void*>(pointer)) = function;
    return {};
  }

  const os::Library library_;
  RunItem* run_ = nullptr;
  bool has_meetings_ = false;  // barriers, or functions of simdgroups
  char* shared_ = nullptr;
  u64 shared_bytes_ = 0;
};

// A folder that is gone with this.
struct Folder {
  std::string path;
  static Result<Folder> make() {
    std::string path = (std::filesystem::temp_directory_path() / "doorbell-metal-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return fail_errno(errno, "make {}", path);
    return Folder(path);
  }
  explicit Folder(std::string made) : path(std::move(made)) {}
  Folder(Folder&& other) noexcept : path(std::exchange(other.path, "")) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code none;
    if (!path.empty()) std::filesystem::remove_all(path, none);
  }
};

}  // namespace

Result<std::shared_ptr<Kernel>> compile_kernel(std::string_view source, bool fast_math) {
  if (fast_math)
    return fail(ErrorKind::Compile, "fast math, whose results the emulator does not have");
  TRY(const KernelText text, read_kernel_text(source));
  TRY(const std::string host, host_source(source, text));
  TRY(const Folder folder, Folder::make());
  const std::string path = folder.path + "/kernel.so";
  for (const char* clang : {"clang", "clang-22", "clang-21", "clang-20", "clang-19"}) {
    // MSL is C++14. No -fwrapv: the text must not need it.
    const std::vector<std::string> command = {clang,
                                              "-x",
                                              "c++",
                                              "-std=c++14",
                                              "-shared",
                                              "-fPIC",
                                              "-O1",
                                              "-nostdlib",
                                              "-march=native",
                                              "-nostdinc",
                                              "-w",
                                              "-ffp-contract=off",
                                              "-fno-math-errno",
                                              "-fno-exceptions",
                                              "-fno-stack-protector",
                                              "-fno-asynchronous-unwind-tables",
                                              "-o",
                                              path,
                                              "-"};
    const Result<os::ProcessOutput> output = os::run_process(command, host);
    if (!output) continue;
    if (output->exit_status != 0) return fail(ErrorKind::Compile, "{}", output->error_out);
    const std::string names[] = {path};
    TRY(os::Library library, os::Library::open(names));
    const bool has_meetings = source.find("threadgroup_barrier") != std::string_view::npos ||
                              source.find("simdgroup_multiply") != std::string_view::npos;
    return HostKernel::make(text, std::move(library), has_meetings);
  }
  return fail(ErrorKind::NotFound, "no clang here, which setup installs");
}

}  // namespace doorbell::emu::metal
