// Exit: why a wave stopped, returned by isa/run.h to the scheduler of waves (amd/compute).
#pragma once

#include <string>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// The operation of a DS_GWS_* on the process's global wave sync (compute/wave_sync.h).
struct WaveSync {
  enum class Op : u8 { Init, Barrier, SemaphoreRaise, SemaphoreTake, SemaphoreReleaseAll };
  Op op = Op::Init;
  u32 resource = 0;  // of 64
  u32 value = 0;
};

struct Exit {
  enum class Kind : u8 {
    EndProgram,
    Barrier,        // signals the group's barrier and waits at it
    BarrierSignal,  // gfx12: signals the group's barrier and goes on; with `value` 1 SCC is to be
                    // set to whether this wave was the first to
    BarrierWait,    // gfx12: waits at the group's barrier
    BarrierState,   // gfx12: scalar register `value` is to be set to the group's barrier's state
    WaveSync,       // performs `sync`, and waits or continues
    Budget,         // the budget of instructions is used up: run again
    Sleep,          // s_sleep and the like: others may run first
    Fault,          // an invalid memory access: pc, lane, address
    Bounds,         // an access beyond the kernel's `limit`: pc, lane, name
    Illegal,        // an instruction that the chip, or this emulator, does not have: pc, name
    Trap,           // s_trap: `value` is its number
    Message,        // s_sendmsg, s_sendmsg_rtn: `value` is the message
  };
  // Resources whose allocation a wave must not exceed.
  enum class Limit : u8 { Registers, Lds, Scratch, Alignment };
  Kind kind = Kind::Budget;
  Limit limit = Limit::Registers;  // Bounds
  // The address of the instruction that stopped. The wave's own pc is where it continues: behind
  // the instruction, except for Fault and Illegal, where it is at the instruction.
  u64 pc = 0;
  u64 address = 0;  // Fault
  u32 lane = 0;     // Fault
  bool write = false;
  u32 value = 0;  // Trap, Message, BarrierSignal, BarrierState
  WaveSync sync;
  std::string name;  // Illegal, Fault, WaveSync: the instruction's
};

}  // namespace doorbell::emu::amdgpu
