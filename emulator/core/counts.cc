// Sums of counts, one for each kernel.
#include "emulator/core/counts.h"

#include <numeric>

namespace doorbell::emu {

u64 KernelCounts::all_instructions() const {
  return std::accumulate(instructions.begin(), instructions.end(), u64{0});
}

void KernelCounts::add(const KernelCounts& other) {
  launches += other.launches;
  for (usize i = 0; i < instructions.size(); ++i) instructions[i] += other.instructions[i];
  bank_conflicts += other.bank_conflicts;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  sectors += other.sectors;
}

void Counts::add(std::string_view kernel, const KernelCounts& counts) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end())
    found->second.add(counts);
  else
    kernels_.emplace(kernel, counts);
}

CountsByKernel Counts::kernels() const {
  std::lock_guard lock(mutex_);
  return kernels_;
}

void Counts::clear() {
  std::lock_guard lock(mutex_);
  kernels_.clear();
}

}  // namespace doorbell::emu
