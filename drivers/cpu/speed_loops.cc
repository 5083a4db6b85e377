// The timed loops of x86-64 and of Arm, in assembly, so that no compiler's options change what is
// measured. Twelve accumulators are enough for a latency of four cycles on two ports and of six on
// two.
#include "drivers/cpu/core_speed.h"

namespace doorbell::cpu {
namespace {

constexpr i64 kUnrolled = 12;

#if defined(__x86_64__)

// clang-format off
#define ALL_ACCUMULATORS(X) \
  X("0") X("1") X("2") X("3") X("4") X("5") X("6") X("7") X("8") X("9") X("10") X("11")
#define CLOBBERS "cc", "memory", \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
  "xmm11", "xmm12", "xmm13"
#define LOOP(count, body) \
  asm volatile("1:\n\t" body "dec %0\n\tjnz 1b\n\tvzeroupper" : "+r"(count) : : CLOBBERS)
#define FMA_YMM(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" n "\n\t"
#define FMA_ZMM(n) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" n "\n\t"
#define FMA_YMM_CHAIN(n) FMA_YMM("0")
#define FMA_ZMM_CHAIN(n) FMA_ZMM("0")
#define ADD_CHAIN(n) "add $1, %%rcx\n\t"
#define CLEAR_YMM(n) "vxorps %%ymm" n ", %%ymm" n ", %%ymm" n "\n\t"
// clang-format on

// Zeroes: numbers that are none would slow some processors down.
void clear_registers() {
  asm volatile(ALL_ACCUMULATORS(CLEAR_YMM) CLEAR_YMM("12") CLEAR_YMM("13") : : : CLOBBERS);
}

void add_chain(i64 count) {
  i64 turns = count / kUnrolled;
  asm volatile("1:\n\t" ALL_ACCUMULATORS(ADD_CHAIN) "dec %0\n\tjnz 1b"
               : "+r"(turns)
               :
               : "cc", "rcx");
}

void fma_ymm(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMA_YMM));
}
void fma_ymm_chain(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMA_YMM_CHAIN));
}
void fma_zmm(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMA_ZMM));
}
void fma_zmm_chain(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMA_ZMM_CHAIN));
}

// clang-format off
#define LOAD_XMM(at, n) "movups " at "(%1), %%xmm" n "\n\t"
#define LOAD_YMM(at, n) "vmovups " at "(%1), %%ymm" n "\n\t"
#define LOAD_ZMM(at, n) "vmovups " at "(%1), %%zmm" n "\n\t"
#define LOADS(LOAD, bytes, b0, b1, b2, b3, b4, b5, b6, b7) \
  asm volatile("1:\n\t" LOAD(b0, "0") LOAD(b1, "1") LOAD(b2, "2") LOAD(b3, "3") LOAD(b4, "4") \
               LOAD(b5, "5") LOAD(b6, "6") LOAD(b7, "7") "add $" bytes ", %1\n\tdec %0\n\tjnz 1b" \
               : "+r"(turns), "+r"(data) : : CLOBBERS)
// clang-format on

void load_xmm(const u8* data, i64 bytes) {
  i64 turns = bytes / 128;
  LOADS(LOAD_XMM, "128", "0", "16", "32", "48", "64", "80", "96", "112");
}
void load_ymm(const u8* data, i64 bytes) {
  i64 turns = bytes / 256;
  LOADS(LOAD_YMM, "256", "0", "32", "64", "96", "128", "160", "192", "224");
  asm volatile("vzeroupper" : : : CLOBBERS);
}
void load_zmm(const u8* data, i64 bytes) {
  i64 turns = bytes / 512;
  LOADS(LOAD_ZMM, "512", "0", "64", "128", "192", "256", "320", "384", "448");
  asm volatile("vzeroupper" : : : CLOBBERS);
}

void flush(const u8* data, i64 bytes) {
  for (i64 at = 0; at < bytes; at += 64) __builtin_ia32_clflush(data + at);
  __builtin_ia32_mfence();
}

#elif defined(__aarch64__)

// clang-format off
#define ALL_ACCUMULATORS(X) \
  X("0") X("1") X("2") X("3") X("4") X("5") X("6") X("7") X("16") X("17") X("18") X("19")
#define CLOBBERS "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", \
  "v18", "v19", "v20", "v21"
#define LOOP(count, body) \
  asm volatile("1:\n\t" body "subs %0, %0, #1\n\tb.ne 1b" : "+r"(count) : : CLOBBERS)
#define FMLA(n) "fmla v" n ".4s, v20.4s, v21.4s\n\t"
#define FMLA_CHAIN(n) FMLA("0")
#define ADD_CHAIN(n) "add x9, x9, #1\n\t"
#define CLEAR(n) "movi v" n ".4s, #0\n\t"
// clang-format on

void clear_registers() {
  asm volatile(ALL_ACCUMULATORS(CLEAR) CLEAR("20") CLEAR("21") : : : CLOBBERS);
}

void add_chain(i64 count) {
  i64 turns = count / kUnrolled;
  asm volatile("1:\n\t" ALL_ACCUMULATORS(ADD_CHAIN) "subs %0, %0, #1\n\tb.ne 1b"
               : "+r"(turns)
               :
               : "cc", "x9");
}
void fma_neon(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMLA));
}
void fma_neon_chain(i64 count) {
  i64 turns = count / kUnrolled;
  clear_registers();
  LOOP(turns, ALL_ACCUMULATORS(FMLA_CHAIN));
}

void load_neon(const u8* data, i64 bytes) {
  i64 turns = bytes / 128;
  asm volatile(
      "1:\n\tldp q0, q1, [%1]\n\tldp q2, q3, [%1, #32]\n\tldp q4, q5, [%1, #64]\n\t"
      "ldp q6, q7, [%1, #96]\n\tadd %1, %1, #128\n\tsubs %0, %0, #1\n\tb.ne 1b"
      : "+r"(turns), "+r"(data)
      :
      : CLOBBERS);
}

void flush(const u8* data, i64 bytes) {
  for (i64 at = 0; at < bytes; at += 64) asm volatile("dc civac, %0" : : "r"(data + at) : "memory");
  asm volatile("dsb ish" : : : "memory");
}

#endif

}  // namespace

SpeedLoops host_speed_loops() {
  SpeedLoops loops;
#if defined(__x86_64__)
  __builtin_cpu_init();
  loops.add = add_chain;
  loops.load = load_xmm;
  loops.flush = flush;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loops.narrow = {fma_ymm, fma_ymm_chain};
    loops.load = load_ymm;
  }
  if (__builtin_cpu_supports("avx512f")) {
    loops.wide = {fma_zmm, fma_zmm_chain};
    loops.load = load_zmm;
  }
#elif defined(__aarch64__)
  loops = {
      .add = add_chain, .narrow = {fma_neon, fma_neon_chain}, .load = load_neon, .flush = flush};
#endif
  return loops;
}

}  // namespace doorbell::cpu
