// HandlerSet: the instructions that an interpreter can execute, by normal name: the union of the
// handler files' tables. A handler file adds its table to the list in handlers.cc.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <span>
#include <string_view>

#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

using HandlerTable = std::span<const Entry>;

class HandlerSet {
 public:
  // The set of all tables, which are constants.
  HandlerSet();
  // Null for a name in no table.
  const Entry* find(std::string_view name) const {
    auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : found->second;
  }
  // The function to call: `fast` if this CPU supports it.
  Handler handler(const Entry& entry) const {
    return fast_ && entry.fast != nullptr ? entry.fast : entry.handler;
  }
  usize size() const { return entries_.size(); }

 private:
  void add(HandlerTable table);

  absl::flat_hash_map<std::string_view, const Entry*> entries_;
  bool fast_;
};

// One set for all interpreters.
const HandlerSet& handler_set();

}  // namespace doorbell::emu::amdgpu
