// What CUDA C++ has and C++ has not, in a few lines; f16 by the host's conversions.
#include "tests/codegen/render/cuda_on_host.h"

#include <fmt/format.h>

#include "base/os/process.h"
#include "base/util/check.h"
#include "base/util/try.h"
#include "codegen/render/cuda_helpers.h"
#include "codegen/render/cuda_renderer.h"

namespace doorbell::codegen::testing {
namespace {

// [CUDA Programming Guide 13, 5.4; CUDA Math API, "Type Casting Intrinsics"]
constexpr std::string_view kLanguage = R"(#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads()
#define memcpy __builtin_memcpy
template <class To, class From> static inline To bits_as(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
#define __int_as_float(x) bits_as<float>((unsigned)(x))
#define __longlong_as_double(x) bits_as<double>((unsigned long)(x))
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
#define truncf __builtin_truncf
#define trunc __builtin_trunc
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  unsigned long both = (unsigned long)high << 32 | low;
  unsigned made = 0;
  for (int i = 0; i < 4; ++i)
    made |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return made;
}
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
)";

// An instruction of the GPU, and the host's words for it; clang has _Float16 from 15 on.
struct Inline {
  std::string_view text, host;
};
constexpr Inline kInline[] = {
    {R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(f));)",
     "__fp16 h = (__fp16)f; memcpy(&r, &h, 2);"},
    {R"(asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));)",
     "__fp16 h; memcpy(&h, &a, 2); f = (float)h;"},
};

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (usize at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

class HostRenderer final : public Renderer {
 public:
  std::string_view name() const override { return "CUDA"; }
  const Caps& caps() const override { return cuda_->caps(); }
  std::string render(const LinearProgram& program) const override {
    LinearProgram named = program;
    named.name = program.name + "_kernel";
    std::string kernel = cuda_->render(named), arguments;
    for (const Inline& instruction : kInline)
      replace_all(kernel, instruction.text, instruction.host);
    for (usize i = 0; i < program.params.size(); ++i)
      arguments += fmt::format("{}({}*)args[{}]", i ? ", " : "", type_of(program.params[i]), i);
    for (usize i = 0; i < program.variables.size(); ++i)
      arguments += fmt::format("{}variables[{}]", arguments.empty() ? "" : ", ", i);
    return fmt::format(
        "{}{}extern \"C\" void {}(void* const* args, const i64* variables, i64) {{\n  "
        "{}({});\n}}\n",
        kLanguage, kernel, program.name, named.name, arguments);
  }

 private:
  static std::string type_of(const ProgramParam& p) {
    const core::DType t = p.dtype.element();
    return t.is_bool() ? "u8" : CudaHelpers().type(t);
  }

  const std::unique_ptr<Renderer> cuda_ =
      make_cuda_renderer(cuda_caps(*nv::hw::find_chip("sm_90")));
};

class HostCompiler final : public Compiler {
 public:
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override {
    for (const char* clang : {"clang-22", "clang-21", "clang-20", "clang-19", "clang"}) {
      // No -fwrapv: the text must not need it.
      const std::vector<std::string> command = {clang,
                                                "-x",
                                                "c++",
                                                "-std=c++17",
                                                "-c",
                                                "-O2",
                                                "-march=native",
                                                "-mno-avx512fp16",
                                                "-fPIC",
                                                "-ffreestanding",
                                                "-fno-math-errno",
                                                "-ffp-contract=off",
                                                "-fno-asynchronous-unwind-tables",
                                                "-fno-exceptions",
                                                "-fno-stack-protector",
                                                "-w",
                                                "-o",
                                                "-",
                                                "-"};
      Result<os::ProcessOutput> output = os::run_process(command, source);
      if (!output) continue;
      if (output->exit_status != 0)
        return fail(ErrorKind::Compile, "kernel {}: {}\n{}", program.name, output->error_out,
                    source);
      return std::vector<u8>(output->out.begin(), output->out.end());
    }
    return fail(ErrorKind::NotFound, "no clang here, which setup installs");
  }
  Result<std::string> disassemble(std::span<const u8>) const override {
    return fail(ErrorKind::Unsupported, "not for tests");
  }

 private:
  const std::string key_ = "CUDA C++ on the host";
};

}  // namespace

std::unique_ptr<Renderer> make_cuda_host_renderer() { return std::make_unique<HostRenderer>(); }
std::unique_ptr<Compiler> make_cuda_host_compiler() { return std::make_unique<HostCompiler>(); }

}  // namespace doorbell::codegen::testing
