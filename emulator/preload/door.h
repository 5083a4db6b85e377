// What the preload shim and the emulator's library say to each other: a C interface, so that the
// shim needs nothing of ours and no C++ runtime of its own.
#pragma once

extern "C" {

struct DoorbellEmulatorOptions {
  const char* gpus;         // "gfx1100,gfx1100"
  const char* checks;       // as Checks::configure() takes it
  const char* seed;         // a number, or empty
  const char* hang_after;   // wave instructions of a kernel, or empty: no limit
  const char* trace;        // a file, appended to, or empty; of the format that its name has
  const char* trace_only;   // which lines, as TraceFilter::parse() takes it, or empty
  const char* trace_limit;  // bytes, or empty
  const char* dump_waves;   // a file for the registers of kernels that stop, or empty
  const char* breaks;       // as Breakpoints::parse() takes it, or empty
  const char* break_count;  // how often each is told, or empty
  const char* break_file;   // where; empty: standard error
  const char* root;         // where the machine's files lie; errors are noted in it
  int adversarial;
  int break_lds;  // not 0: with the work group's LDS
  int leaks;      // not 0: what the process leaves is told when it ends
};

// Nodes are numbered: -1 is /dev/kfd, others the render node of that GPU.
struct DoorbellEmulatorDoor {
  // A descriptor, or -1 with errno.
  int (*open_node)(int node, int flags);
  // 0, or an errno.
  int (*ioctl)(int node, unsigned long request, void* argument);
  // Which node a descriptor is of, however it came to be, of this machine or of a parent process's;
  // -2: none.
  int (*node_of)(int descriptor);
  // Not 0: of this process's machine.
  int (*is_own)(int descriptor);
  // In a child, right after the fork: the machine stays the parent's.
  void (*forked)();
  // Whether mmap() of so much of a node may be: 0, or an errno. Also of what is no node: 0.
  int (*map)(int descriptor, unsigned long bytes, int protection, int flags, unsigned long offset);
  // This memory of the program is about to go.
  void (*unmapped)(void* start, unsigned long bytes);
};

// The machine, made on the first call and the first after a fork; null when it cannot be, which was
// said on stderr.
using DoorbellEmulatorFunction = const DoorbellEmulatorDoor* (*)(const DoorbellEmulatorOptions*);

}  // extern "C"

inline constexpr const char* kDoorbellEmulatorSymbol = "doorbell_emulator_door_5";
