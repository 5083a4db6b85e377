// clang, fed through pipes: no temporary files.
#include "codegen/compile/clang_compiler.h"

#include <fmt/format.h>

#include "base/os/process.h"
#include "base/util/try.h"
#include "codegen/render/cpu_caps.h"

namespace doorbell::codegen {

namespace {

// Ints wrap; the math functions used set no errno; a * b + c may be one instruction. Aliasing is
// ruled out by `restrict`, not by type.
std::vector<std::string> command_line(const std::string& program) {
  return {program, "-x", "c", "-std=c11", "-c", "-O2", "-march=native", "-fPIC", "-ffreestanding",
          "-fno-math-errno", "-ffp-contract=fast", "-fwrapv", "-fsigned-char",
          "-fno-strict-aliasing", "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
          "-fno-ident", "-w", "-mprefer-vector-width=512",
          // F16C's conversions widen halves; with those of FP16, clang 15 crashes on 64 of them.
          "-mno-avx512fp16", "-o", "-", "-"};
}

class ClangCompiler final : public Compiler {
 public:
  ClangCompiler(std::string program, std::string_view version) : command_(command_line(program)) {
    key_ = fmt::format("{} {}", version, cpu_identity());
    for (usize i = 1; i < command_.size(); ++i) key_ += " " + command_[i];
  }
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  bool runs_in_process() const override { return false; }

  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override {
    TRY(os::ProcessOutput output, os::run_process(command_, source));
    if (output.exit_status != 0) {
      return fail(ErrorKind::Compile, "kernel {}: {} ended with {}\n{}\n{}", program.name,
                  command_[0], output.exit_status, output.error_out, source);
    }
    return std::vector<u8>(output.out.begin(), output.out.end());
  }

  Result<std::string> disassemble(std::span<const u8>) const override {
    return fail(ErrorKind::Unsupported, "disassembly needs the LLVM renderer");
  }

 private:
  std::vector<std::string> command_;
  std::string key_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> make_clang_compiler(std::vector<std::string> programs) {
  if (programs.empty()) {
    for (int version = 22; version >= 14; --version) {
      programs.push_back(fmt::format("clang-{}", version));
    }
    programs.push_back("clang");
  }
  std::string tried;
  for (const std::string& program : programs) {
    auto output = os::run_process(std::vector<std::string>{program, "--version"});
    if (output && output->exit_status == 0) {
      std::string_view version = output->out;
      return std::unique_ptr<Compiler>(
          std::make_unique<ClangCompiler>(program, version.substr(0, version.find('\n'))));
    }
    tried += (tried.empty() ? "" : ", ") + program;
  }
  return fail(ErrorKind::NotFound, "no clang to compile kernels with; tried {}", tried);
}

}  // namespace doorbell::codegen
