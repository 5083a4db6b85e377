// One keeper for all devices: work of a replay may be on several.
#include "tensor/engine/in_flight.h"

#include "tensor/engine/must.h"

namespace doorbell::engine {

hcq::Keeper& in_flight() {
  static hcq::Keeper& keeper = *new hcq::Keeper;  // never freed: work may outlive main()
  return keeper;
}

core::Ref<core::Buffer> take_memory(core::Device& device, i64 bytes) {
  Result<core::Ref<core::Buffer>> memory = core::Buffer::allocate(device, bytes);
  if (!memory && memory.error().kind == ErrorKind::OutOfMemory && in_flight().count() > 0) {
    in_flight().wait();
    memory = core::Buffer::allocate(device, bytes);
  }
  return must(std::move(memory));
}

}  // namespace doorbell::engine
