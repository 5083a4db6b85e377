// The texts that are CUDA C++'s own.
#include "codegen/render/cuda_helpers.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render/nv_matrix.h"
#include "codegen/render/nv_tensor_copy.h"

namespace doorbell::codegen {

using core::DType;

std::string CudaHelpers::type(DType t) {
  if (t.lanes == 1) return ClangHelpers::type(t);
  const std::string element = type(t.element());
  std::string name = fmt::format("{}x{}", element, t.lanes);
  if (!begin(name)) return name;
  define(in_words(t) ? fmt::format("struct {} {{ u32 w[{}]; }};\n", name, (t.bytes() + 3) / 4)
                     : fmt::format("struct {} {{ {} v[{}]; }};\n", name, element, t.lanes));
  return name;
}

// What one access of memory moves.
std::string CudaHelpers::raw(i64 bytes) {
  if (bytes < 8) return fmt::format("u{}", bytes * 8);
  std::string name = fmt::format("raw{}", bytes);
  if (begin(name)) {
    define(fmt::format("struct __align__({}) {} {{ u32 w[{}]; }};\n", bytes, name, bytes / 4));
  }
  return name;
}

std::string CudaHelpers::load_vector(DType t, i64 alignment) {
  const i64 bytes = std::min({alignment, i64{16}, i64{t.bytes()} & -i64{t.bytes()}});
  const std::string value = type(t), part = raw(bytes);
  std::string name = fmt::format("load{}_{}", bytes, value);
  if (!begin(name)) return name;
  std::string body;
  for (i64 at = 0; at < t.bytes(); at += bytes) {
    body +=
        fmt::format("  a = *(const {0}*)((const u8*)p + {1}); memcpy((u8*)&r + {1}, &a, {2});\n",
                    part, at, bytes);
  }
  define(
      fmt::format("FN {0} {1}(const void* p) {{\n  {0} r = {{}};\n  {2} a;\n{3}  return r;\n}}\n",
                  value, name, part, body));
  return name;
}

std::string CudaHelpers::store_vector(DType t, i64 alignment) {
  const i64 bytes = std::min({alignment, i64{16}, i64{t.bytes()} & -i64{t.bytes()}});
  const std::string value = type(t), part = raw(bytes);
  std::string name = fmt::format("store{}_{}", bytes, value);
  if (!begin(name)) return name;
  std::string body;
  for (i64 at = 0; at < t.bytes(); at += bytes) {
    body += fmt::format("  memcpy(&a, (const u8*)&r + {1}, {2}); *({0}*)((u8*)p + {1}) = a;\n",
                        part, at, bytes);
  }
  define(fmt::format("FN void {1}(void* p, {0} r) {{\n  {2} a;\n{3}}}\n", value, name, part, body));
  return name;
}

std::string CudaHelpers::bits(DType to, DType from) {
  const std::string result = type(to), value = type(from);
  const std::string name = fmt::format("bits_{}_{}", result, value);
  if (!begin(name)) return name;
  define(fmt::format("FN {0} {1}({2} a) {{\n  {0} r;\n  memcpy(&r, &a, {3});\n  return r;\n}}\n",
                     result, name, value, to.bytes()));
  return name;
}

// It reads memory, which the compiler has to be told. [PTX ISA 9.0, "ldmatrix"]
std::string CudaHelpers::load_matrix(DType t, bool transposed) {
  const std::string value = type(t), how = transposed ? ".trans" : "";
  std::string name = fmt::format("load_{}matrix_{}", transposed ? "transposed_" : "", value);
  if (!begin(name)) return name;
  define(fmt::format(
      "FN {0} {1}(const void* p) {{\n  {0} r;\n  u32 w[4];\n"
      "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4{2}.shared.b16 {{%0, %1, %2, %3}}, [%4];\"\n"
      "      : \"=r\"(w[0]), \"=r\"(w[1]), \"=r\"(w[2]), \"=r\"(w[3])\n"
      "      : \"r\"((u32)__cvta_generic_to_shared(p)) : \"memory\");\n"
      "  memcpy(&r, w, 16);\n  return r;\n}}\n",
      value, name, how));
  return name;
}

// [PTX ISA 9.0, "cp.async": of fewer bytes than 16, the rest are zeros]
std::string CudaHelpers::copy_async(bool gated) {
  std::string name = gated ? "copy_async_gated" : "copy_async";
  if (!begin(name)) return name;
  define(fmt::format(
      "FN void {}(void* to, const void* from{}) {{\n"
      "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16{};\"\n"
      "      :: \"r\"((u32)__cvta_generic_to_shared(to)), \"l\"(__cvta_generic_to_global(from)){}\n"
      "      : \"memory\");\n}}\n",
      name, gated ? ", b8 gate" : "", gated ? ", %2" : "", gated ? ", \"r\"(gate ? 16 : 0)" : ""));
  return name;
}

std::string CudaHelpers::matrix(const TensorCore& core) {
  const auto lanes = static_cast<u16>(core.operand_elements);
  const DType sums{core.result, static_cast<u16>(core.result_elements)};
  const std::string operand = type({core.operand, lanes}), result = type(sums);
  std::string name = fmt::format("matrix_{}", type({core.operand, 1}));
  name += std::string_view(core.name).substr(std::string_view(core.name).rfind('.') - 4, 4);
  std::ranges::replace(name, '.', '_');
  if (!begin(name)) return name;
  const char constraint = sums.is_float() ? 'f' : 'r';
  std::string body, words = ".w";
  if (core.operand == core::Scalar::F32) {
    words = "w";
    body = fmt::format("  u32 aw[{0}], bw[{0}];\n", lanes);
    for (const char* operand_name : {"a", "b"}) {
      for (int i = 0; i < lanes; ++i)
        body += fmt::format("  asm(\"{0}\" : \"=r\"({1}w[{2}]) : \"f\"({1}.v[{2}]));\n",
                            nv_tf32_text('%'), operand_name, i);
    }
  }
  for (const NvMatrixStep& step : nv_matrix_steps(core)) {
    std::string outputs, inputs;
    for (const int i : step.sums)
      outputs += fmt::format("{}\"+{}\"(c.v[{}])", outputs.empty() ? "" : ", ", constraint, i);
    for (const int i : step.a)
      inputs += fmt::format("{}\"r\"(a{}[{}])", inputs.empty() ? "" : ", ", words, i);
    for (const int i : step.b) inputs += fmt::format(", \"r\"(b{}[{}])", words, i);
    body += fmt::format("  asm(\"{}\" : {} : {});\n", nv_matrix_text(core, '%'), outputs, inputs);
  }
  define(fmt::format("FN {0} {1}({2} a, {2} b, {0} c) {{\n{3}  return c;\n}}\n", result, name,
                     operand, body));
  return name;
}

namespace {

// Of "+f"(c.v[0]) and so on.
std::string in_and_out(DType sums) {
  std::string list;
  for (i64 i = 0; i < sums.lanes; ++i)
    list += fmt::format("{}\"+{}\"(c.v[{}])", i ? ", " : "", sums.is_float() ? 'f' : 'r', i);
  return list;
}

}  // namespace

// The wait names the sums, so that nobody reads them before.
std::string CudaHelpers::warpgroup_matrix(core::UOp wmma) {
  const TensorCore& core = tensor_core(wmma.arg(0));
  const std::string sums = type(wmma.dtype());
  std::string name = fmt::format("warpgroup_{}_{}", type({core.operand, 1}), core.columns);
  for (usize i = 1; i < wmma.narg(); ++i)
    name += fmt::format("_{}", wmma.arg(i) == kSameBatch ? "same" : std::to_string(wmma.arg(i)));
  if (!begin(name)) return name;
  std::string descriptors;
  for (usize i = 0; i < 2; ++i) {
    descriptors +=
        fmt::format("  const u32 {0}_at = (u32)__cvta_generic_to_shared({0}) >> 4 | 0x{1:x};\n",
                    i == 0 ? 'a' : 'b', nv_descriptor(wmma, i));
  }
  define(
      fmt::format("FN {0} {1}(const void* a, const void* b, {0} c) {{\n{2}  asm volatile(\"{3}\"\n"
                  "      : {4}\n      : \"r\"(a_at), \"r\"(b_at) : \"memory\");\n  return c;\n}}\n",
                  sums, name, descriptors, nv_warpgroup_text(wmma, '%'), in_and_out(wmma.dtype())));
  return name;
}

std::string CudaHelpers::warpgroup_wait(DType t) {
  const std::string sums = type(t);
  std::string name = "warpgroup_wait_" + sums;
  if (!begin(name)) return name;
  define(fmt::format(
      "FN {0} {1}({0} c) {{\n  asm volatile(\"{2}\" : {3} :: \"memory\");\n  return c;\n}}\n", sums,
      name, nv_warpgroup_wait(), in_and_out(t)));
  return name;
}

std::string CudaHelpers::tensor_copy(core::UOp copy) {
  const usize rank = coordinates_of(copy).size();
  std::string name = fmt::format("tensor_copy_{}_{}", rank, phase_bytes_of(copy));
  if (!begin(name)) return name;
  std::string parameters, operands;
  for (usize i = 0; i < rank; ++i) {
    parameters += fmt::format(", i32 at{}", i);
    operands += fmt::format(", \"r\"(at{})", i);
  }
  define(fmt::format(
      "FN void {}(void* to, const TensorMap* map, u64* mbarrier{}) {{\n  asm volatile(\"{}\"\n"
      "      :: \"r\"((u32)__cvta_generic_to_shared(to)), \"l\"(map),\n"
      "         \"r\"((u32)__cvta_generic_to_shared(mbarrier)){} : \"memory\");\n}}\n",
      name, parameters, nv_tensor_copy(copy, '%'), operands));
  return name;
}

std::string CudaHelpers::phase_wait() {
  std::string name = "phase_wait";
  if (!begin(name)) return name;
  define(fmt::format(
      "FN void {}(u64* mbarrier, u32 parity) {{\n  asm volatile(\"{}\"\n"
      "      :: \"r\"((u32)__cvta_generic_to_shared(mbarrier)), \"r\"(parity) : \"memory\");\n}}\n",
      name, nv_phase_wait('%')));
  return name;
}

std::string CudaHelpers::init_mbarriers(i64 count) {
  std::string name = fmt::format("init_mbarriers_{}", count);
  if (!begin(name)) return name;
  define(
      fmt::format("FN void {}(u64* first) {{\n"
                  "  const bool is_first = (threadIdx.x | threadIdx.y | threadIdx.z) == 0;\n"
                  "  asm volatile(\"{}\"\n"
                  "      :: \"r\"(is_first ? 1 : 0), \"r\"((u32)__cvta_generic_to_shared(first)) : "
                  "\"memory\");\n  __syncthreads();\n}}\n",
                  name, nv_mbarrier_init(count, '%')));
  return name;
}

// [PTX ISA, "cvt"; "Inline PTX Assembly in CUDA", "Constraints": "h" is a u16, "f" an f32]
std::string CudaHelpers::to_half(DType, const std::string&) {
  return "  u16 r;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(f));\n  return r;\n";
}

std::string CudaHelpers::from_half(DType, const std::string&) {
  return "  f32 f;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(a));\n";
}

}  // namespace doorbell::codegen
