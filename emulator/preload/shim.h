// Shared by the files of the preload shim: the C library's functions that they replace, the
// emulated machine's paths, and the interface to the emulator. Everything here works before
// constructors have run, and allocates nothing.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include "emulator/preload/door.h"

// The shim's functions have the C library's names only as symbols: its headers declare some of them
// in ways that C++ cannot repeat.
#define DOORBELL_STANDS_FOR(name) __asm__(#name) __attribute__((visibility("default")))

namespace doorbell::preload {

// The next definition of this symbol: the C library's.
void* next(const char* name);

// function_cast<int(const char*)>("unlink")("path")
template <class Signature>
Signature* real(const char* name) {
  return reinterpret_cast<Signature*>(next(name));
}

constexpr int kPathMax = 4096;

// Maps a path of the emulated machine to the file with its contents; other paths stay unchanged.
class Path {
 public:
  explicit Path(const char* path);
  const char* c_str() const { return rewritten_ ? buffer_ : path_; }
  bool rewritten() const { return rewritten_; }
  // -1: /dev/kfd; 0 and up: a render node, one of NVIDIA's or PCI's (door.h); -2: none.
  int node() const { return node_; }

 private:
  const char* path_;
  bool rewritten_ = false;
  int node_ = -2;
  char buffer_[kPathMax];
};

// Removes the root's prefix from the target of a link or a result of the C library; returns the new
// length.
long unrewrite(char* path, long length);

// Whether no kernel driver has the machine's GPUs.
bool is_bare();

// The status of a device node for the program; regions of PCI are files.
// [Documentation/admin-guide/devices.txt: 226 is DRM, 195 NVIDIA's]
void make_device(struct stat* status, int node);

// Null until a device is opened.
const DoorbellEmulatorDoor* opened_emulator();
// Loads the emulator, or makes a new machine in a forked child; null if that fails, which was
// reported on stderr.
const DoorbellEmulatorDoor* emulator();
// The process has a file of events from now on, so that functions which wait for descriptors tell
// the emulator what they reported.
void note_event_file();
// The process has opened its page map; until then no function that reads asks whose descriptor it
// is.
void note_page_map();
bool has_page_map();
// Whether this process was forked from one that had opened a machine.
bool forked();

}  // namespace doorbell::preload
