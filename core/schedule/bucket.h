// Buckets: small sums over processes that follow one another and do not need each other become one
// exchange of several values, as gradients do: many small exchanges cost more than a large one. A
// bucket holds so many bytes at most; the first is smaller, so that exchanging begins early. Large
// sums stay alone: one start less is worth less than copying their bytes together and apart.
//
// Every process decides alike, because it looks at the work of all, and at nothing that differs
// between them: which exchanges there are, in which order, and which need which.
#pragma once

#include "core/schedule/kernel.h"

namespace doorbell::core {

struct BucketBytes {
  i64 first = i64{1} << 20;
  i64 most = i64{25} << 20;  // PyTorch's bucket_cap_mb of DistributedDataParallel
  i64 of_member = i64{32} << 10;
};

// Joins exchanges of this process's devices, each bucket where its last member was; what needs
// members comes after. Needs: the schedule of all processes, before memory is planned.
void bucket_exchanges(Schedule* schedule, const BucketBytes& limits);

}  // namespace doorbell::core
