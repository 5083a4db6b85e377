// Kernels as objects, constants and state as a weights file, C compiled, all of it in an archive.
#include "tensor/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/os/host.h"
#include "base/os/process.h"
#include "codegen/render/cpu_caps.h"
#include "tensor/engine/kernel_cache.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tensor/export/c_source.h"
#include "tensor/io/safetensors.h"

namespace doorbell::detail {

namespace {

using engine::must;

void check_identifier(const std::string& name, const char* what) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') ||
      name.find_first_not_of(kLetters) != std::string::npos)
    throw fail(ErrorKind::Invalid, "{} '{}' of an export is no C identifier", what, name);
}

void check_names(const ExportedFunction& function, const ExportOptions& options) {
  check_identifier(options.name, "name");
  std::set<std::string> names{"self"};  // what the generated function calls its object
  const auto take = [&](const std::string& name, const char* what) {
    check_identifier(name, what);
    if (!names.insert(name).second)
      throw fail(ErrorKind::Invalid, "{} '{}' of an export is there twice", what, name);
  };
  for (const auto& value : function.arguments) take(value.name, "argument");
  for (const auto& output : function.outputs) take(output.value.name, "result");
  for (const std::string& name : function.variables) take(name, "variable");
  if (options.arguments.size() > function.arguments.size() ||
      options.results.size() > function.outputs.size()) {
    throw fail(ErrorKind::Invalid,
               "names for {} arguments and {} results of an export that has {} and {}",
               options.arguments.size(), options.results.size(), function.arguments.size(),
               function.outputs.size());
  }
}

// The widest vectors that the code may use.
std::string cpu_features() {
  switch (codegen::cpu_caps().vector_bytes) {
    case 64: return "avx512f avx512vl avx512bw avx512dq";
    case 32: return "avx2";
    default: return "";
  }
}

class Export {
 public:
  Export(const ExportedFunction& function, const ExportOptions& options)
      : function_(function),
        options_(options),
        base_(options.folder + "/" + options.name),
        objects_(options.folder + "/." + options.name + ".objects") {}

  void run() {
    check_names(function_, options_);
    must(files_.make_folders(options_.folder));
    must(files_.make_folders(objects_));
    compile_kernels();
    collect_constants();
    save_weights();
    const CSource text =
        write_c({function_, options_.name, entries_, threads_, constants_, cpu_features()});
    write(base_ + ".h", text.header);
    write(base_ + ".c", text.source);
    compile_c();
    archive();
  }

  ~Export() {
    // What cannot be removed is left; the export itself has its own error.
    for (const std::string& path : made_) (void)files_.remove(path);
    (void)files_.remove(objects_);
  }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

 private:
  void write(const std::string& path, std::string_view text) {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    must(os::replace_file(files_, path, std::span(bytes, text.size()), os::host_random().next()));
  }

  std::string add_object(const std::string& name) {
    made_.push_back(objects_ + "/" + name + ".o");
    return made_.back();
  }

  void compile_kernels() {
    std::set<std::string> done;
    for (const auto& item : function_.plan->work->items) {
      const engine::KernelRef& kernel = item.kernel;
      entries_.emplace_back();
      threads_.push_back(1);
      if (!kernel) continue;
      engine::CompiledKernel compiled =
          must(engine::kernel_compiler().compile_object(*kernel->ast, *item.device));
      entries_.back() = compiled.binary.name;
      threads_.back() = compiled.binary.threads;
      if (!done.insert(compiled.binary.name).second) continue;
      const std::vector<u8>& image = compiled.binary.image;
      write(add_object(compiled.binary.name),
            {reinterpret_cast<const char*>(image.data()), image.size()});
    }
  }

  void add_constant(const core::Buffer* buffer) {
    const auto same = [&](const ExportedConstant& known) { return known.buffer == buffer; };
    if (std::find_if(constants_.begin(), constants_.end(), same) != constants_.end()) return;
    constants_.push_back({fmt::format("constant{}", constants_.size()), buffer});
  }

  void collect_constants() {
    for (const auto& constant : function_.plan->constants()) add_constant(constant.get());
    for (const auto& result : function_.plan->results)
      if (result.constant && core::TensorGraph::realized(*result.constant))
        add_constant(&engine::buffer_of(*result.constant));
  }

  void save_weights() {
    nn::NamedTensors tensors;
    for (usize i = 0; i < function_.states.size(); ++i)
      tensors.emplace_back(function_.states[i].name, function_.state_values[i].detach());
    for (const ExportedConstant& constant : constants_) {
      std::vector<std::byte> bytes(static_cast<usize>(constant.buffer->bytes()));
      must(constant.buffer->device().synchronize());
      must(constant.buffer->copy_out(bytes.data(), constant.buffer->bytes()));
      tensors.emplace_back(constant.name,
                           Tensor::from_bytes(bytes, dtypes::u8, {constant.buffer->bytes()}));
    }
    io::save_safetensors(base_ + ".safetensors", tensors);
  }

  static void run(const std::vector<std::string>& command) {
    const os::ProcessOutput output = must(os::run_process(command));
    if (output.exit_status != 0) {
      throw fail(ErrorKind::Compile, "export: {} ended with {}\n{}", fmt::join(command, " "),
                 output.exit_status, output.error_out);
    }
  }

  void compile_c() {
    std::string tried;
    for (const char* compiler : {"cc", "gcc", "clang"}) {
      const std::vector<std::string> version = {compiler, "--version"};
      const Result<os::ProcessOutput> found = os::run_process(version);
      tried += fmt::format(" {}", compiler);
      if (!found || found->exit_status != 0) continue;
      return run({compiler, "-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-c", base_ + ".c",
                  "-o", add_object(options_.name)});
    }
    throw fail(ErrorKind::NotFound, "export needs a C compiler; tried{}", tried);
  }

  void archive() {
    const std::string library = options_.folder + "/lib" + options_.name + ".a";
    if (files_.exists(library)) must(files_.remove(library));  // ar would add to it
    std::vector<std::string> command = {"ar", "rcs", library};
    command.insert(command.end(), made_.begin(), made_.end());
    run(command);
  }

  const ExportedFunction& function_;
  const ExportOptions& options_;
  const std::string base_, objects_;
  os::Files& files_ = os::host_files();
  std::vector<std::string> entries_;
  std::vector<i64> threads_;
  std::vector<ExportedConstant> constants_;
  std::vector<std::string> made_;  // objects, which the archive replaces
};

}  // namespace

void export_c(const ExportedFunction& function, const ExportOptions& options) {
  Export(function, options).run();
}

void export_refused(const ExportOptions& options, const std::string& reason) {
  os::Files& files = os::host_files();
  const auto* bytes = reinterpret_cast<const u8*>(reason.data());
  // Without the folder there is no place for the reason.
  if (files.make_folders(options.folder))
    (void)os::replace_file(files, options.folder + "/" + options.name + ".refused",
                           std::span(bytes, reason.size()), os::host_random().next());
}

}  // namespace doorbell::detail
