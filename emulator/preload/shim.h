// What the files of the preload shim share: the functions that they stand in for, the paths that
// are an emulated machine's, and the way to the emulator. Everything here works before any
// constructor has run, and allocates nothing.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include "emulator/preload/door.h"

// The shim's functions carry the C library's names as symbols only: its headers declare some of
// them in ways that C++ could not repeat.
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

// A path of the emulated machine as the file that holds it; others stay as they are.
class Path {
 public:
  explicit Path(const char* path);
  const char* c_str() const { return rewritten_ ? buffer_ : path_; }
  bool rewritten() const { return rewritten_; }
  // -1: /dev/kfd; 0 and up: a render node; -2: neither.
  int node() const { return node_; }

 private:
  const char* path_;
  bool rewritten_ = false;
  int node_ = -2;
  char buffer_[kPathMax];
};

// The root's prefix taken off what a link or the C library said; the new length.
long unrewrite(char* path, long length);

// As the program sees a device node. [Documentation/admin-guide/devices.txt: 226 is DRM]
void make_device(struct stat* status, int node);

// Null until a device was opened.
const DoorbellEmulatorDoor* opened_emulator();
// Loads the emulator, or makes a forked child a machine of its own; null when it cannot be, which
// was said on stderr.
const DoorbellEmulatorDoor* emulator();
// From a process that had opened a machine.
bool forked();

}  // namespace doorbell::preload
