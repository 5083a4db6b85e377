// The classes of Metal and Foundation that clients use, and what their objects hold. Methods are
// sequences of checks against rules.def; then they do what Apple says. Work of a committed command
// buffer runs when the client looks at its status or waits for it, never earlier: a client that
// reads memory before then finds it unwritten.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "emulator/metal/kernel.h"
#include "emulator/metal/runtime.h"

namespace doorbell::emu::metal {

inline constexpr u64 kMostArguments = 31, kMostBytes = 4096, kMostItems = 1024;
inline constexpr u64 kMostBufferBytes = u64{8} << 30, kGroupBytes = 32768;
// On both sides of a buffer, to see stores beside it.
inline constexpr u64 kMargin = 64;
inline constexpr u8 kMarginByte = 0xb5;

struct Size {
  u64 width, height, depth;
};
struct Version {
  i64 major, minor, patch;
};

struct String {
  Object head;
  std::string text;
};
// Of an NSError.
struct Failure {
  Object head;
  Object* description = nullptr;
};
struct Array {
  Object head;
  std::vector<Object*> objects;
};
struct Device {
  Object head;
  std::string name;
};
struct CompileOptions {
  Object head;
  bool fast_math = true;
  u64 language = 0;
};
struct Library {
  Object head;
  std::shared_ptr<Kernel> kernel;  // with pipelines
};
struct Function {
  Object head;
  std::shared_ptr<Kernel> kernel;
};
struct PipelineDescriptor {
  Object head;
  Function* function = nullptr;  // a reference
  bool is_indirect = false;
};
struct Pipeline {
  Object head;
  std::shared_ptr<Kernel> kernel;
  bool is_indirect = false;  // for indirect command buffers too
};
struct Buffer {
  Object head;
  std::vector<u8> storage;  // with margins; empty where it is the client's memory
  u8* contents = nullptr;
  u64 length = 0;
};

struct CommandBuffer;
struct Queue {
  Object head;
  u64 room = 0;
  u64 alive = 0;                          // command buffers that are not done
  std::vector<CommandBuffer*> committed;  // not done, in order; references
};

struct Argument {
  Buffer* buffer = nullptr;  // a reference, of the command buffer
  u64 offset = 0;
  std::vector<u8> bytes{};  // of setBytes
};
struct Dispatch {
  std::shared_ptr<Kernel> kernel;
  std::array<Argument, kMostArguments> arguments;
  Size groups, items;
};
struct IndirectDescriptor {
  Object head;
  u64 types = 0, most_buffers = 0;
  bool inherits_buffers = true, inherits_pipeline = true;  // nobody may rely on a default
};
struct IndirectCommand {
  Pipeline* pipeline = nullptr;
  std::array<Argument, kMostArguments> arguments;  // without references
  Size groups{}, items{};
  bool has_barrier = false;  // before it
};
struct IndirectCommands {
  Object head;
  std::vector<IndirectCommand> commands;
  u64 most_buffers = 0;
  bool inherits_pipeline = false;
  u64 on_their_way = 0;  // runs of it in command buffers that are not done
};
// What encodes one of them.
struct IndirectCommandAt {
  Object head;
  IndirectCommands* all = nullptr;  // a reference
  u64 index = 0;
};
struct Range {
  u64 location, length;
};
struct Indirect {
  IndirectCommands* commands;
  Range range;
  std::vector<Buffer*> resident;
};
struct Copy {
  Buffer *from, *to;
  u64 from_offset, to_offset, bytes;
};
struct CommandBuffer {
  Object head;
  Queue* queue = nullptr;
  enum class State : u64 { Made = 0, Committed = 2, Completed = 4, Failed = 5 } state{};
  bool encoding = false;
  std::vector<std::variant<Dispatch, Copy, Indirect>> work;
  std::vector<Object*> keeps;  // references
  std::string error;
  f64 start = 0, end = 0;  // seconds
};
struct Encoder {
  Object head;
  CommandBuffer* commands = nullptr;
  bool ended = false;
  Pipeline* pipeline = nullptr;  // kept by the command buffer
  std::array<Argument, kMostArguments> arguments;
  std::vector<Buffer*> resident;  // by useResources; the command buffer keeps them
};

void add_metal_classes(Runtime& runtime);
// Of foundation.cc, device.cc, commands.cc and indirect.cc.
void add_foundation(Runtime& runtime);
void add_device(Runtime& runtime);
void add_commands(Runtime& runtime);
void add_indirect(Runtime& runtime);

// An array with a reference of the caller's.
Object* all_devices(Runtime& runtime);
// What an object that is about to die had references to.
void before_destroy(Runtime& runtime, Object* object);
// Autoreleased.
Object* string_of(Runtime& runtime, const std::string& text);
// Stores an autoreleased NSError where the client wants one.
void set_error(Runtime& runtime, Object** error, const std::string& text);
// Runs what is committed on the queue, up to and with `last`.
void run_until(Runtime& runtime, CommandBuffer* last);
// Whether a dispatch may run, by the rules; and running it.
bool check_dispatch(const Pipeline* pipeline, const std::array<Argument, kMostArguments>& arguments,
                    Size groups, Size items);
void run_dispatch(const Dispatch& dispatch);
void run_indirect(const Indirect& work);
// Whether nothing stored beside the buffer.
bool margins_are_whole(const Buffer& buffer);

}  // namespace doorbell::emu::metal
