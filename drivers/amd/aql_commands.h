// AqlCommands: a compute queue's operations as AQL packets. A launch is a packet; everything else
// is PM4, in indirect buffers among the data, each of which a vendor packet runs. A packet whose
// barrier bit is set begins when all before it have ended.
#pragma once

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/pm4_commands.h"

namespace doorbell::amd {

class AqlCommands final : public Pm4Commands {
 public:
  AqlCommands(const AmdDevice& device, const Caps& caps, u32 xccs)
      : Pm4Commands(device, caps, xccs, Area::Data), xccs_(xccs) {}

  void memory_barrier() override;
  // What a vendor packet's buffer begins at a multiple of.
  static constexpr u32 kBufferAlignmentWords = 16;

 protected:
  void dispatch(const AmdProgram& program, u32 arguments) override;
  void begin() override;
  void data_appended() override;

 private:
  static constexpr u32 kNone = ~u32{0};

  // How far a launch looks for what was written before it, and is seen by what follows.
  hw::FenceScope scope() const;
  // Forgets about packets that clear() dropped.
  void restart();

  const u32 xccs_;
  // The last packet, while it is a vendor packet into whose buffer more may go; and that buffer.
  u32 open_packet_ = kNone, open_data_ = 0;
  bool waits_ = true;    // the next launch waits for all before it
  bool outside_ = true;  // and may read what came from outside the device
};

}  // namespace doorbell::amd
