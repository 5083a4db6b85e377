// Chip: the table of NVIDIA's chips that the code generator compiles for, as far as a kernel's plan
// needs it. What all of them share (codegen/render/nv_caps.cc) is with those who use it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::nv::hw {

// Whose shapes of mma.sync there are, each with those before it.
enum class Matrix : u8 { Turing, Ampere, Ada, Hopper };

struct Chip {
  std::string_view name;  // as NVIDIA's compilers and LLVM call it
  // What they are asked for: "sm_90a" is sm_90 with the instructions that no other chip has.
  // Machine code runs on one chip in any case.
  std::string_view architecture;
  int multiprocessors;  // SMs of the largest part that was sold
  int warps;            // that an SM holds
  int blocks;           // that an SM holds
  i64 shared;           // bytes of shared memory that the blocks on an SM share
  i64 shared_of_block;  // of these, what a block may take that asks for it when it is launched
  int f32_lanes;        // of each of an SM's four partitions, for multiplications and additions
  Matrix matrix;
  int ptx;  // the version of PTX that has the chip and its matrix instructions; 65: PTX 6.5
  int warpgroup_ptx;  // the version that has wgmma, of four warps; 0: the chip has none
};

std::span<const Chip> chips();
// Null for a chip that is not in the table.
const Chip* find_chip(std::string_view name);
// "sm_75, sm_80, ...": for messages.
std::string chip_names();

// Warps, blocks, shared memory: [CUDA Programming Guide 13, 5.1 "Compute Capabilities", "Technical
// Specifications per Compute Capability"; cuda_occupancy.h of CUDA 13.0; NVIDIA/cccl cudax
// __device/arch_traits.cuh, of sm_75, sm_80, sm_86 and sm_90]. Lanes: [CUDA C++ Best Practices
// Guide, "Throughput of Native Arithmetic Instructions", a quarter of an SM's]. Multiprocessors:
// the white papers (Turing TU102, A100, GA102, AD102, H100, RTX Blackwell), "Jetson AGX
// Orin Series Technical Brief", and NVIDIA's articles on B200 and "Inside NVIDIA Blackwell Ultra".
// PTX: [PTX ISA 9.0, "Release Notes", "PTX Release History"; "ldmatrix", "mma", "wgmma.mma_async":
// "PTX ISA Notes", "Target ISA Notes"; "Target Architecture"]
// clang-format off
inline constexpr Chip kChips[] = {
//  name      for       SMs  warps blocks shared  of block lanes matrix          PTX wgmma's
  {"sm_75",   "sm_75",   72,  32,   16,    65536,  65536,   16,   Matrix::Turing,  65, 0},
  {"sm_80",   "sm_80",   108, 64,   32,    167936, 166912,  16,   Matrix::Ampere,  70, 0},
  {"sm_86",   "sm_86",   84,  48,   16,    102400, 101376,  32,   Matrix::Ampere,  71, 0},
  {"sm_87",   "sm_87",   16,  48,   16,    167936, 166912,  32,   Matrix::Ampere,  74, 0},
  {"sm_89",   "sm_89",   142, 48,   24,    102400, 101376,  32,   Matrix::Ada,     84, 0},
  {"sm_90",   "sm_90a",  132, 64,   32,    233472, 232448,  32,   Matrix::Hopper,  84, 80},
  {"sm_100",  "sm_100",  148, 64,   32,    233472, 232448,  32,   Matrix::Hopper,  86, 0},
  {"sm_103",  "sm_103",  160, 64,   32,    233472, 232448,  32,   Matrix::Hopper,  88, 0},
  {"sm_120",  "sm_120",  188, 48,   24,    102400, 101376,  32,   Matrix::Hopper,  87, 0},
};
// clang-format on

// D = A * B + C over a warp: A is rows x depth, B depth x columns. [PTX
// ISA 9.0, "Warp-level matrix instructions: mma", "PTX ISA Notes", "Target ISA Notes"]
struct MatrixShape {
  std::string_view operand;  // of A and B, as PTX writes it
  int rows, columns, depth;
  Matrix since;
  int ptx;  // the version of PTX that has it
};
// clang-format off
inline constexpr MatrixShape kMatrixShapes[] = {
//  operand m   n  k   since           PTX
  {"f16",   16, 8, 8,  Matrix::Turing,  65},
  {"s8",    8,  8, 16, Matrix::Turing,  65},
  {"f16",   16, 8, 16, Matrix::Ampere,  70},
  {"bf16",  16, 8, 8,  Matrix::Ampere,  70},
  {"bf16",  16, 8, 16, Matrix::Ampere,  70},
  {"tf32",  16, 8, 4,  Matrix::Ampere,  70},
  {"tf32",  16, 8, 8,  Matrix::Ampere,  70},
  {"s8",    16, 8, 16, Matrix::Ampere,  70},
  {"s8",    16, 8, 32, Matrix::Ampere,  70},
  {"u8",    16, 8, 32, Matrix::Ampere,  70},
  {"f64",   8,  8, 4,  Matrix::Ampere,  70},
  {"e4m3",  16, 8, 32, Matrix::Ada,     84},
  {"e5m2",  16, 8, 32, Matrix::Ada,     84},
  {"f64",   16, 8, 4,  Matrix::Hopper,  78},
  {"f64",   16, 8, 8,  Matrix::Hopper,  78},
  {"f64",   16, 8, 16, Matrix::Hopper,  78},
};
// clang-format on

}  // namespace doorbell::nv::hw
