// Queries the CPU.
#include "codegen/render/cpu_caps.h"

#include <fmt/format.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace doorbell::codegen {

using core::Op;
using core::Scalar;

namespace {

#if defined(__APPLE__)
// [<sys/sysctl.h> of macOS, on HW_L1DCACHESIZE and HW_L2CACHESIZE]
constexpr const char kL1[] = "hw.l1dcachesize", kL2[] = "hw.l2cachesize";

i64 cache_bytes(const char* name, i64 otherwise) {
  i64 bytes = 0;
  usize size = sizeof bytes;
  return sysctlbyname(name, &bytes, &size, nullptr, 0) == 0 && bytes > 0 ? bytes : otherwise;
}
#else
constexpr int kL1 = _SC_LEVEL1_DCACHE_SIZE, kL2 = _SC_LEVEL2_CACHE_SIZE;

i64 cache_bytes(int name, i64 otherwise) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}
#endif

}  // namespace

Caps cpu_caps() {
  Caps caps;
  for (Op op :
       {Op::Cast, Op::Bitcast, Op::Neg,  Op::Sqrt, Op::Recip, Op::Trunc, Op::Add,   Op::Sub,
        Op::Mul,  Op::FDiv,    Op::CDiv, Op::CMod, Op::Max,   Op::CmpLt, Op::CmpEq, Op::CmpNe,
        Op::And,  Op::Or,      Op::Xor,  Op::Shl,  Op::Shr,   Op::Where, Op::MulAcc}) {
    caps.ops.set(static_cast<usize>(op));
  }
  for (usize scalar = static_cast<usize>(Scalar::Bool); scalar <= static_cast<usize>(Scalar::F64);
       ++scalar) {
    caps.storage_dtypes.set(scalar);
    bool narrow =
        scalar >= static_cast<usize>(Scalar::F8E4M3) && scalar <= static_cast<usize>(Scalar::BF16);
    if (!narrow) caps.dtypes.set(scalar);
  }
  caps.masked_access = true;
  caps.host_threads = true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) {
    caps.vector_bytes = 64, caps.vector_registers = 32;
    caps.dot_products = __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bf16") &&
                        __builtin_cpu_supports("avx512vnni");
  } else if (__builtin_cpu_supports("avx2")) {
    caps.vector_bytes = 32;
  }
#else
  caps.vector_registers = 32;
#endif
  caps.l1_bytes = cache_bytes(kL1, caps.l1_bytes);
  caps.l2_bytes = cache_bytes(kL2, caps.l2_bytes);
  return caps;
}

Result<Caps> cpu_caps_of(std::string_view level) {
  struct Level {
    std::string_view name;
    int vector_bytes, vector_registers;
  };
  constexpr Level kLevels[] = {{"x86-64-v2", 16, 16}, {"x86-64-v3", 32, 16}, {"x86-64-v4", 64, 32}};
  Caps caps = cpu_caps();
  if (level.empty()) return caps;
  for (const Level& known : kLevels) {
    if (known.name != level) continue;
    if (known.vector_bytes > caps.vector_bytes)
      return fail(ErrorKind::Unsupported, "{} has vectors of {} bytes, this CPU of {}", level,
                  known.vector_bytes, caps.vector_bytes);
    caps.dot_products = false;
    caps.vector_bytes = known.vector_bytes, caps.vector_registers = known.vector_registers;
    return caps;
  }
  return fail(ErrorKind::Invalid, "no CPU architecture {}; there are x86-64-v2, -v3 and -v4",
              level);
}

std::string cpu_identity() {
#if defined(__x86_64__)
  // Model and feature words of leaves 1 and 7, and which registers the system saves (XCR0). Bits
  // 24-31 of leaf 1 EBX are the number of the current core. [Intel SDM vol. 2A, CPUID]
  std::string identity = "x86-64";
  for (auto [leaf, subleaf] : {std::pair{1u, 0u}, {7u, 0u}, {7u, 1u}}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
    if (leaf == 1) b = 0;
    identity += fmt::format(" {:x}.{:x}.{:x}.{:x}", a, b, c, d);
  }
  unsigned low = 0, high = 0, a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsxsave = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & kOsxsave)) {
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  }
  return identity + fmt::format(" {:x}{:08x}", high, low);
#else
  return "native";
#endif
}

}  // namespace doorbell::codegen
