// The list of handler tables that depend on the memory policy, and the handler set of a policy.
#pragma once

#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/isa/scalar_memory.h"

namespace doorbell::emulator::amd {

// One set for all interpreters with this policy.
template <class Memory>
const HandlerSet& handler_set() {
  static const HandlerTable tables[] = {scalar_memory_table<Memory>()};
  static const HandlerSet set{tables};
  return set;
}

}  // namespace doorbell::emulator::amd
