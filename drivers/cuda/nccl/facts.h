// Whether NCCL can join the GPUs of a group of processes: each tells all others what it has, and
// all of them come to the same answer.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "drivers/cuda/nccl/api.h"

namespace doorbell::cuda::nccl {

// What one process tells, as bytes.
struct Facts {
  std::array<u8, 16> gpu{};  // its UUID, which no other GPU has
  int version = 0;           // of NCCL; 0: there is none to use
  u32 must = 0;              // 1: the program asked for NCCL
  char why_not[256] = "";    // where there is none
  UniqueId id{};             // the group's, where this process is its first
};

// Why not; empty: it can. `ranks` are those of the processes, in the order of the facts.
std::string hindrance(std::span<const Facts> facts, std::span<const int> ranks);

}  // namespace doorbell::cuda::nccl
