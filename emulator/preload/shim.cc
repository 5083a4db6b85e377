// The shim's basis: the C library's functions, paths, and loading the emulator.
#include "emulator/preload/shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace doorbell::preload {
namespace {

std::atomic<const DoorbellEmulatorDoor*> door{nullptr};
std::atomic<bool> is_child{false};  // forked from a process that had opened the machine
std::atomic<bool> is_stale{false};  // the machine is the parent's: the next open makes one
std::atomic<bool> opened_page_map{false};
pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

const char* root() {
  const char* set = getenv("DOORBELL_EMU_ROOT");
  return set && *set ? set : nullptr;
}

void say(const char* what, const char* detail) {
  char text[1024];
  int length = snprintf(text, sizeof text, "doorbell emu: %s%s\n", what, detail);
  if (length > 0 && write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
}

const char* variable(const char* name, const char* otherwise) {
  const char* set = getenv(name);
  return set && *set ? set : otherwise;
}

// The emulator's library lies beside this one.
void* open_library() {
  Dl_info info;
  char path[kPathMax] = "";
  if (dladdr(reinterpret_cast<void*>(&open_library), &info) && info.dli_fname) {
    const char* slash = strrchr(info.dli_fname, '/');
    int folder = slash ? static_cast<int>(slash - info.dli_fname) + 1 : 0;
    snprintf(path, sizeof path, "%.*slibdoorbell_emulator.so", folder, info.dli_fname);
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) say("cannot load the emulator: ", dlerror());
  return library;
}

// A child has no thread that runs its parent's GPUs, and the kernel rejects the parent's
// descriptors: it may open the nodes again.
void start_child() {
  loading = PTHREAD_MUTEX_INITIALIZER;
  is_child = is_stale = true;
  if (const DoorbellEmulatorDoor* opened = door.load()) opened->forked();
}

const DoorbellEmulatorDoor* load() {
  void* library = open_library();
  if (!library) return nullptr;
  auto make = reinterpret_cast<DoorbellEmulatorFunction>(dlsym(library, kDoorbellEmulatorSymbol));
  if (!make) {
    say("the emulator's library is of another version: ", dlerror());
    return nullptr;
  }
  const char* adversarial = variable("EMU_ADVERSARIAL", "0");
  DoorbellEmulatorOptions options{variable("EMU_GPU", "gfx1100"),
                                  variable("EMU_DRIVER", ""),
                                  variable("EMU_CHECKS", "warn"),
                                  variable("EMU_SEED", ""),
                                  variable("EMU_HANG_AFTER", ""),
                                  variable("EMU_TRACE", ""),
                                  variable("EMU_TRACE_ONLY", ""),
                                  variable("EMU_TRACE_LIMIT", ""),
                                  variable("EMU_DUMP_WAVES", ""),
                                  variable("EMU_BREAK", ""),
                                  variable("EMU_BREAK_COUNT", ""),
                                  variable("EMU_BREAK_FILE", ""),
                                  variable("EMU_COUNTS", ""),
                                  root(),
                                  strcmp(adversarial, "0") != 0,
                                  is_bare(),
                                  strcmp(variable("EMU_BREAK_LDS", "0"), "0") != 0,
                                  strcmp(variable("EMU_LEAKS", "0"), "0") != 0};
  const DoorbellEmulatorDoor* made = make(&options);
  static bool watches_forks = false;
  if (!watches_forks) pthread_atfork(nullptr, nullptr, start_child);
  watches_forks = true;
  return made;
}

bool starts(const char* path, const char* prefix) {
  return strncmp(path, prefix, strlen(prefix)) == 0;
}

// Whether `path` is this folder or in it.
bool inside(const char* path, const char* folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

bool exists(const char* path) { return real<int(const char*, int)>("access")(path, F_OK) == 0; }

// Of a machine with NVIDIA's GPUs, all such nodes.
bool is_nvidia_node(const char* path, const char* root) {
  char control[kPathMax];
  if (!starts(path, "/dev/nvidia")) return false;
  const int length = snprintf(control, sizeof control, "%s/dev/nvidiactl", root);
  return length > 0 && length < kPathMax && exists(control);
}

// Whether only the machine has this path, whatever the host has there.
bool owned(const char* path) {
  return strcmp(path, "/dev/kfd") == 0 || inside(path, "/dev/dri") ||
         inside(path, "/sys/class/kfd") || inside(path, "/sys/devices/virtual/kfd") ||
         inside(path, "/sys/class/drm") || inside(path, "/sys/module/amdgpu") ||
         strcmp(path, "/proc/modules") == 0 || starts(path, "/sys/dev/char/226:") ||
         (is_bare() && (inside(path, "/sys/bus/pci") || inside(path, "/lib/firmware/amdgpu") ||
                        inside(path, "/dev/vfio")));
}

// "/sys/bus/pci/devices/0000:03:00.0/resource5"
int node_of_region(const char* path) {
  unsigned bus = 0, region = 0;
  int length = 0;
  if (sscanf(path, "/sys/bus/pci/devices/0000:%2x:00.0/resource%1u%n", &bus, &region, &length) !=
          2 ||
      path[length] != 0 || region > 5)
    return -2;
  return kDoorbellPciFirst + static_cast<int>(bus * 8 + region);
}

int node_of_path(const char* path) {
  if (strcmp(path, "/proc/self/pagemap") == 0) return kDoorbellPageMap;
  if (starts(path, "/sys/bus/pci/")) return node_of_region(path);
  if (strcmp(path, "/dev/kfd") == 0) return -1;
  if (strcmp(path, "/dev/nvidiactl") == 0) return kDoorbellNvControl;
  if (strcmp(path, "/dev/nvidia-uvm") == 0) return kDoorbellNvUvm;
  constexpr const char *kRender = "/dev/dri/renderD", *kNvidia = "/dev/nvidia";
  char* end = nullptr;
  if (starts(path, kNvidia) && path[strlen(kNvidia)] != 0) {
    const long gpu = strtol(path + strlen(kNvidia), &end, 10);
    return *end == 0 && gpu >= 0 && gpu < 32 ? kDoorbellNvFirst + static_cast<int>(gpu) : -2;
  }
  if (!starts(path, kRender)) return -2;
  long minor = strtol(path + strlen(kRender), &end, 10);
  return *end == 0 && minor >= 128 && minor < 192 ? static_cast<int>(minor - 128) : -2;
}

}  // namespace

void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

Path::Path(const char* path) : path_(path) {
  const char* prefix = path && path[0] == '/' ? root() : nullptr;
  if (!prefix || !(starts(path, "/dev/") || starts(path, "/sys/") || starts(path, "/proc/") ||
                   starts(path, "/lib/firmware/")))
    return;
  int length = snprintf(buffer_, sizeof buffer_, "%s%s", prefix, path);
  if (length < 0 || length >= kPathMax) return;
  rewritten_ = owned(path) || is_nvidia_node(path, prefix) || exists(buffer_);
  node_ = node_of_path(path);
  // A node that the machine lacks is an ordinary path that does not exist.
  if (node_ != -2 && !exists(buffer_)) node_ = -2;
}

long unrewrite(char* path, long length) {
  const char* prefix = root();
  long cut = prefix ? static_cast<long>(strlen(prefix)) : 0;
  if (!prefix || length <= cut || strncmp(path, prefix, static_cast<size_t>(cut)) != 0 ||
      path[cut] != '/')
    return length;
  memmove(path, path + cut, static_cast<size_t>(length - cut));
  return length - cut;
}

bool is_bare() {
  char devices[kPathMax];
  const char* prefix = root();
  const int length =
      prefix ? snprintf(devices, sizeof devices, "%s/sys/bus/pci/devices", prefix) : 0;
  return length > 0 && length < kPathMax && exists(devices);
}

void make_device(struct stat* status, int node) {
  if (node >= kDoorbellPciFirst) return;
  constexpr unsigned kDrm = 226, kKfd = 511, kUvm = 510, kNvidia = 195;
  constexpr unsigned kFirst = kDoorbellNvFirst;
  const auto number = static_cast<unsigned>(node);
  status->st_mode = (status->st_mode & ~static_cast<unsigned>(S_IFMT)) | S_IFCHR | 0666;
  status->st_rdev = node < 0                     ? makedev(kKfd, 0)
                    : node == kDoorbellNvControl ? makedev(kNvidia, 255)
                    : node == kDoorbellNvUvm     ? makedev(kUvm, 0)
                    : number >= kFirst           ? makedev(kNvidia, number - kFirst)
                                                 : makedev(kDrm, 128 + number);
  status->st_size = 0;
}

bool forked() { return is_child; }

void note_page_map() { opened_page_map = true; }
bool has_page_map() { return opened_page_map.load(std::memory_order_relaxed); }

const DoorbellEmulatorDoor* opened_emulator() { return door.load(std::memory_order_acquire); }

const DoorbellEmulatorDoor* emulator() {
  const DoorbellEmulatorDoor* opened = opened_emulator();
  if (opened && !is_stale) return opened;
  pthread_mutex_lock(&loading);
  opened = opened_emulator();
  if (!opened || is_stale) {
    opened = load();
    if (opened) {
      door.store(opened, std::memory_order_release);
      is_stale = false;
    }
  }
  pthread_mutex_unlock(&loading);
  return opened;
}

}  // namespace doorbell::preload
