// One staging for each pair of devices that ever copied. Devices are never closed, nor is this.
#include "tensor/engine/staging.h"

#include <memory>
#include <mutex>
#include <vector>

#include "base/util/try.h"

namespace doorbell::engine {
namespace {

struct Table {
  std::mutex mutex;                               // guards what follows
  std::vector<std::unique_ptr<Staging>> staging;  // pointers: graphs keep them
};

Table& table() {
  static Table& table = *new Table;  // never freed: work may outlive main()
  return table;
}

// In shared memory of `owner`.
Result<std::unique_ptr<Staging>> make_staging(hcq::Device& from, hcq::Device& to,
                                              hcq::Device& owner) {
  core::Allocator& shared = owner.shared_memory();
  TRY(const core::Allocation memory, shared.allocate(Staging::kPieces * Staging::kPieceBytes));
  auto staging = std::make_unique<Staging>();
  staging->from = &from;
  staging->to = &to;
  staging->memory =
      core::Buffer::wrap(owner, memory, [&shared, memory] { shared.release(memory); });
  TRY(staging->seen_by_from, from.address_of(*staging->memory));
  TRY(staging->seen_by_to, to.address_of(*staging->memory));
  return staging;
}

}  // namespace

const Staging* staging_between(hcq::Device& from, hcq::Device& to) {
  if (!from.copy_queue().can_wait_for(to.copy_queue()) ||
      !to.copy_queue().can_wait_for(from.copy_queue()))
    return nullptr;
  std::lock_guard lock(table().mutex);
  for (const std::unique_ptr<Staging>& known : table().staging)
    if (known->from == &from && known->to == &to) return known.get();
  for (hcq::Device* owner : {&from, &to}) {
    if (Result<std::unique_ptr<Staging>> made = make_staging(from, to, *owner)) {
      table().staging.push_back(*std::move(made));
      return table().staging.back().get();
    }
  }
  return nullptr;
}

}  // namespace doorbell::engine
