// Kernels as objects, constants and state as a weights file, C compiled, all of it in an archive.
#include "tensor/export/export.h"

#include <fmt/format.h>

#include <set>

#include "base/os/host.h"
#include "base/os/process.h"
#include "codegen/render/cpu_caps.h"
#include "tensor/engine/kernel_cache.h"
#include "tensor/engine/must.h"
#include "tensor/export/c_source.h"
#include "tensor/export/files.h"

namespace doorbell::detail {

namespace {

using engine::must;

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
        objects_(options.folder + "/." + options.name + ".objects"),
        layout_(function) {}

  void run() {
    check_names(function_, options_);
    must(files_.make_folders(options_.folder));
    must(files_.make_folders(objects_));
    compile_kernels();
    layout_.save_weights(base_ + ".safetensors");
    const CSource text =
        write_c({function_, options_.name, entries_, threads_, layout_, cpu_features()});
    write_text(base_ + ".h", text.header);
    write_text(base_ + ".c", text.source);
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
      write_text(add_object(compiled.binary.name),
                 {reinterpret_cast<const char*>(image.data()), image.size()});
    }
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
  const ExportLayout layout_;
  os::Files& files_ = os::host_files();
  std::vector<std::string> entries_;
  std::vector<i64> threads_;
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
