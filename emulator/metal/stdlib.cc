// Address spaces are nothing here; threadgroup memory is declared otherwise (kernel_text.cc).
#include "emulator/metal/stdlib.h"

namespace doorbell::emu::metal {

const char* const kMetalStdlib = R"(
#define kernel
#define device
#define constant const
#define thread
#define threadgroup
#define alignas(bytes) __attribute__((aligned(bytes)))
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
struct uint3 { uint x, y, z; };

template <class To, class From> static inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type of another size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// Rounded after each operation, as the GPU does. Products and sums of f16 in f32 round once.
struct half {
  ushort bits;
  half() = default;
  template <class T> explicit half(T value) {
    __fp16 h = (__fp16)(float)value;
    __builtin_memcpy(&bits, &h, 2);
  }
  half(const half&) = default;
  half& operator=(const half&) = default;
  operator float() const {
    __fp16 h;
    __builtin_memcpy(&h, &bits, 2);
    return (float)h;
  }
};
static inline half operator+(half a, half b) { return half((float)a + (float)b); }
static inline half operator-(half a, half b) { return half((float)a - (float)b); }
static inline half operator*(half a, half b) { return half((float)a * (float)b); }
static inline half operator/(half a, half b) { return half((float)a / (float)b); }
static inline half operator/(int a, half b) { return half((float)a / (float)b); }
static inline half operator-(half a) { return as_type<half>((ushort)(a.bits ^ 0x8000)); }

// To nearest, ties to even; a NaN stays one.
struct bfloat {
  ushort bits;
  bfloat() = default;
  explicit bfloat(float value) {
    uint w = as_type<uint>(value);
    bits = value != value ? (ushort)(w >> 16 | 0x40) : (ushort)((w + 0x7fff + (w >> 16 & 1)) >> 16);
  }
};

namespace metal {
namespace precise {
static inline float sqrt(float x) { return __builtin_sqrtf(x); }
static inline half sqrt(half x) { return half(__builtin_sqrtf((float)x)); }
}
static inline float trunc(float x) { return __builtin_truncf(x); }
static inline half trunc(half x) { return half(__builtin_truncf((float)x)); }
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// The product is exact in f32, and f64 holds the sum but for its last bits.
static inline half fma(half a, half b, half c) {
  double s = (double)((float)a * (float)b) + (double)(float)c;
  float f = (float)s;
  // The last bit of f says whether any were lost.
  if ((double)f != s) {
    uint w = as_type<uint>(f);
    if ((f > 0) == ((double)f > s) && f != 0) --w;
    f = as_type<float>(w | 1);
  }
  return half(f);
}
static inline ulong clz(ulong x) { return x == 0 ? 64 : (ulong)__builtin_clzl(x); }
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
}
// See kernel.cc.
extern "C" {
void (*doorbell_barrier)();
void (*doorbell_multiply)(const float* a, const float* b, const float* c, float* d);
}
namespace metal {
static inline void threadgroup_barrier(mem_flags) { doorbell_barrier(); }
static inline float to_float(float x) { return x; }
static inline float to_float(half x) { return (float)x; }
static inline float to_float(bfloat x) { return as_type<float>((uint)x.bits << 16); }
// What one thread has of it.
template <class T> struct simdgroup_matrix_8x8 {
  T elements[2];
  T* thread_elements() { return elements; }
};
typedef simdgroup_matrix_8x8<float> simdgroup_float8x8;
typedef simdgroup_matrix_8x8<half> simdgroup_half8x8;
typedef simdgroup_matrix_8x8<bfloat> simdgroup_bfloat8x8;
template <class T>
static inline void simdgroup_multiply_accumulate(simdgroup_float8x8& d, simdgroup_matrix_8x8<T>& a,
                                                 simdgroup_matrix_8x8<T>& b,
                                                 simdgroup_float8x8& c) {
  const float x[2] = {to_float(a.elements[0]), to_float(a.elements[1])};
  const float y[2] = {to_float(b.elements[0]), to_float(b.elements[1])};
  doorbell_multiply(x, y, c.elements, d.elements);
}
}
)";

}  // namespace doorbell::emu::metal
