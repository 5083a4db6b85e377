// The area into which a compute queue's waves are saved when it is preempted (CREATE_QUEUE's
// ctx_save_restore_address): per XCC a header, the control stack, the waves' registers. Sizes are
// the kernel's to say (the node's properties), the waves' layout the trap handler's.
#pragma once

#include "base/util/types.h"

namespace doorbell::amd::hw {

// At the beginning of each XCC's part. Offsets count from this header. The stack grows down: its
// top is at control_stack_offset, its used bytes control_stack_size; so are the waves'. err_payload
// and err_event_id are the user's, for exceptions of the queue. [torvalds/linux
// include/uapi/linux/kfd_ioctl.h kfd_context_save_area_header, since 1.13]
struct ContextSaveHeader {
  u32 control_stack_offset = 0, control_stack_size = 0;
  u32 wave_state_offset = 0, wave_state_size = 0;
  u32 debug_offset = 0, debug_size = 0;
  u64 err_payload_addr = 0;
  u32 err_event_id = 0, reserved1 = 0;
};
static_assert(sizeof(ContextSaveHeader) == 40);

}  // namespace doorbell::amd::hw
