// DOORBELL_CLONES("avx2", "default"): before a function, of which the compiler makes a version for
// each set of instructions; the one for this processor is chosen when the program is loaded.
#pragma once

// The choice runs before the thread sanitizer can be called, which its code would do.
#if defined(__SANITIZE_THREAD__)
#define DOORBELL_CLONES(...)
#else
#define DOORBELL_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#endif
