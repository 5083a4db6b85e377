// The interface between the preload shim and the emulator's library: in C, so that the shim needs
// no other part of Doorbell and no C++ runtime.
#pragma once

extern "C" {

struct DoorbellEmulatorOptions {
  const char* gpus;         // "gfx1100,gfx1100" or "sm_86"
  const char* driver;       // the version of NVIDIA's kernel modules, or empty
  const char* checks;       // in the form of Checks::configure()
  const char* seed;         // a number, or empty
  const char* hang_after;   // wave instructions of a kernel, or empty: no limit
  const char* trace;        // a file, appended to, or empty; of the format that its name has
  const char* trace_only;   // the lines, in the form of TraceFilter::parse(), or empty
  const char* trace_limit;  // bytes, or empty
  const char* dump_waves;   // a file for the registers of kernels that stop, or empty
  const char* breaks;       // in the form of Breakpoints::parse(), or empty
  const char* break_count;  // how often each is reported, or empty
  const char* break_file;   // the file for reports; empty: standard error
  const char* counts;       // a file for what kernels executed (counts_file.h), or empty
  const char* root;         // the folder with the machine's files; errors are recorded in it
  int adversarial;
  int bare;       // not 0: AMD's GPUs are PCI devices that no kernel driver has
  int break_lds;  // not 0: with the work group's LDS
  int leaks;      // not 0: reports what the process leaves when it ends
};

// Nodes are numbered: -1 is /dev/kfd, others the render node of that GPU; NVIDIA's and those of PCI
// see below.
struct DoorbellEmulatorDoor {
  // A descriptor, or -1 with errno.
  int (*open_node)(int node, int flags);
  // 0, or an errno.
  int (*ioctl)(int descriptor, int node, unsigned long request, void* argument);
  // The node of a descriptor, however it was made, of this machine or of a parent process's
  // machine; -2: none.
  int (*node_of)(int descriptor);
  // Not 0 if it belongs to this process's machine.
  int (*is_own)(int descriptor);
  // Call in a child right after the fork: the machine stays with the parent.
  void (*forked)();
  // Whether mmap() of this part of a node is allowed: 0 or an errno; 0 for other descriptors.
  int (*map)(int descriptor, unsigned long bytes, int protection, int flags, unsigned long offset);
  // Call before memory of the program is unmapped.
  void (*unmapped)(void* start, unsigned long bytes);
  // Call when poll(), select() or epoll_wait() has reported the descriptor ready.
  void (*polled)(int descriptor);
  // Contents of a node that are computed: how many bytes from `offset` on were put there.
  unsigned long (*read)(int node, void* into, unsigned long bytes, unsigned long offset);
};

// The machine, made at the first call and at the first after a fork; null if that fails, which was
// reported on stderr.
using DoorbellEmulatorFunction = const DoorbellEmulatorDoor* (*)(const DoorbellEmulatorOptions*);

}  // extern "C"

inline constexpr const char* kDoorbellEmulatorSymbol = "doorbell_emulator_door_8";
// Nodes of NVIDIA's: /dev/nvidia0 and so on, /dev/nvidiactl, /dev/nvidia-uvm.
inline constexpr int kDoorbellNvFirst = 0x1000, kDoorbellNvControl = 0x2000,
                     kDoorbellNvUvm = 0x2001;
// Region R of the PCI device on bus B, as its sysfs file: this + 8 * B + R; and where the process's
// pages lie on the bus.
inline constexpr int kDoorbellPciFirst = 0x4000, kDoorbellPciLast = 0x4fff,
                     kDoorbellPageMap = 0x5000;
