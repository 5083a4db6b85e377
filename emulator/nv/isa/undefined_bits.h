// Which bits of a result nobody wrote, where bits of the sources were never written: for rule
// NV-CODE-004. Compilers put a byte into a register whose other bytes are unwritten, and look at
// that byte alone.
#pragma once

#include <functional>

#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

struct Warp;

// The undefined bits of a source in a lane.
using UndefinedBits = std::function<u32(const Source&)>;
// Of the operation's result, of each of its words, in `lane`. Exact for what moves bits; an upper
// bound for the rest.
u32 undefined_result(const Warp& warp, const Operation& op, u32 lane, const UndefinedBits& of);

// What PRMT and SHF do to the words of a lane: integer.cc and select.cc.
u32 permuted_bytes(u32 a, u32 selector, u32 c, const Operation& op);
u32 funnel_shifted(u32 low, u32 count, u32 high, const Operation& op);

}  // namespace doorbell::emu::nvgpu
