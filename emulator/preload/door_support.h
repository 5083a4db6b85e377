// What the doors of both vendors' machines share: reports, traces and messages of a machine inside
// another program.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/util/result.h"
#include "emulator/core/checks.h"
#include "emulator/core/trace.h"
#include "emulator/preload/door.h"

namespace doorbell::emu {

void write_all(int descriptor, std::string_view text);
// A descriptor.
Result<int> open_to_append(const char* path);
// To standard error.
void say(const std::string& text);
// Says each broken rule, and writes errors to the file that `doorbell emu` reads when the program
// has ended.
std::function<void(const Report&)> report_to(const DoorbellEmulatorOptions& given);

struct DoorTrace {
  Trace::Sink sink;  // null: no trace
  Trace::Format format = Trace::Format::Text;
  TraceFilter filter;
};
Result<DoorTrace> open_trace(const DoorbellEmulatorOptions& given);

// What `make` returns; null where it fails or throws, which is said.
template <class Make>
std::remove_cvref_t<decltype(*std::declval<const Make&>()())> made_or_null(const Make& make) {
  try {
    auto made = make();
    if (made) return *made;
    say(made.error().message);
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
  }
  return nullptr;
}

// The doors: made at the first call; null if that fails, which was said.
const DoorbellEmulatorDoor* open_amd_door(const DoorbellEmulatorOptions& options);
const DoorbellEmulatorDoor* open_nv_door(const DoorbellEmulatorOptions& options);

}  // namespace doorbell::emu
