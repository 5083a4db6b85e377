// NCCL asks for one GPU of each process. [NVIDIA/nccl, src/init.cc, "Duplicate GPU detected"]
#include "drivers/cuda/nccl/facts.h"

#include <fmt/format.h>

namespace doorbell::cuda::nccl {

std::string hindrance(std::span<const Facts> facts, std::span<const int> ranks) {
  for (usize i = 0; i < facts.size(); ++i)
    if (facts[i].version == 0) return fmt::format("rank {}: {}", ranks[i], facts[i].why_not);
  for (usize i = 0; i < facts.size(); ++i)
    for (usize k = 0; k < i; ++k) {
      if (facts[i].gpu == facts[k].gpu)
        return fmt::format("ranks {} and {} use one GPU, and NCCL joins different ones", ranks[k],
                           ranks[i]);
      if (facts[i].version != facts[k].version)
        return fmt::format("rank {} has NCCL {} and rank {} NCCL {}", ranks[k], facts[k].version,
                           ranks[i], facts[i].version);
    }
  return {};
}

}  // namespace doorbell::cuda::nccl
