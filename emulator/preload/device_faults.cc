// [mmap(2): "Use of a mapped region can result in SIGBUS: access to a page of the buffer that lies
// beyond the end of the mapped file"; proc(5), /proc/pid/maps]
#include "emulator/preload/device_faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/util/try.h"
#include "emulator/preload/door_support.h"
#include "emulator/preload/memory_instruction.h"

namespace doorbell::emu {

#if defined(__x86_64__)

namespace {

struct RegisterFile {
  dev_t device;
  ino_t inode;
  std::string link;  // what /proc calls it
  DeviceRegisters registers;
};

struct Mapped {
  u64 start = 0, end = 0, offset = 0;
  const RegisterFile* file = nullptr;
};

std::mutex mutex;  // guards what follows
std::deque<RegisterFile>* files = nullptr;
Mapped last;  // where the last access was
struct sigaction before;

// By the kernel's list: the program may have mapped the file in any way, and split what it mapped.
std::optional<Mapped> find_mapping(u64 address) {
  FILE* const maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return std::nullopt;
  char line[4352];
  std::optional<Mapped> found;
  while (!found && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long start = 0, end = 0, offset = 0, inode = 0;
    unsigned high = 0, low = 0;
    if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset, &high, &low, &inode) !=
            6 ||
        address < start || address >= end)
      continue;
    for (const RegisterFile& file : *files)
      if (file.inode == inode && file.device == makedev(high, low))
        found = Mapped{start, end, offset, &file};
    break;
  }
  fclose(maps);
  return found;
}

// Whether what was found is mapped still: the kernel has a link of this name then.
bool still_holds(const Mapped& mapped, u64 address) {
  if (mapped.file == nullptr || address < mapped.start || address >= mapped.end) return false;
  const std::string name = fmt::format("/proc/self/map_files/{:x}-{:x}", mapped.start, mapped.end);
  char target[256];
  const ssize_t length = readlink(name.c_str(), target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<usize>(length)) == mapped.file->link;
}

// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 .. r15 [AMD64 manual, volume 3, chapter 1]
constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};

u64 low_bytes(u64 value, unsigned bytes) {
  return bytes == 8 ? value : value & ((u64{1} << 8 * bytes) - 1);
}

u64 sign_extended(u64 value, unsigned bytes) {
  const unsigned above = 64 - 8 * bytes;
  return static_cast<u64>(static_cast<i64>(value << above) >> above);
}

// Of left - right, or of left & right, as the processor sets them.
// [AMD64 manual, volume 1, "Flags Register"]
u64 flags_of(bool is_test, unsigned bytes, u64 left, u64 right) {
  constexpr u64 kCarry = 1, kParity = 4, kAuxiliary = 0x10, kZero = 0x40, kSign = 0x80;
  constexpr u64 kOverflow = 0x800;
  const u64 top = u64{1} << (8 * bytes - 1);
  const u64 result = low_bytes(is_test ? left & right : left - right, bytes);
  u64 flags = 0;
  if (result == 0) flags |= kZero;
  if ((result & top) != 0) flags |= kSign;
  if (std::popcount(result & 0xff) % 2 == 0) flags |= kParity;
  if (is_test) return flags;
  if (left < right) flags |= kCarry;
  if (((left ^ right) & (left ^ result) & top) != 0) flags |= kOverflow;
  if (((left ^ right ^ result) & 0x10) != 0) flags |= kAuxiliary;
  return flags;
}

constexpr u64 kArithmeticFlags = 0x8d5;

u64 read_device(const Mapped& at, u64 offset, unsigned bytes) {
  if (bytes >= 4) return at.file->registers.read(offset, bytes);
  return low_bytes(at.file->registers.read(offset & ~u64{3}, 4) >> 8 * (offset & 3), bytes);
}

// False: devices have no such access.
bool carry_out(const MemoryInstruction& instruction, const Mapped& at, u64 offset,
               greg_t* registers) {
  using Kind = MemoryInstruction::Kind;
  const unsigned bytes = instruction.bytes;
  if (offset % std::min(bytes, 4u) != 0) return false;
  if (instruction.kind == Kind::Store && bytes < 4) return false;
  greg_t& named = registers[kRegisters[instruction.reg]];
  const u64 whole = static_cast<u64>(named);
  const u64 other =
      low_bytes(instruction.immediate.value_or(instruction.is_high ? whole >> 8 : whole), bytes);
  if (instruction.kind == Kind::Store) {
    at.file->registers.write(offset, bytes, other);
    return true;
  }
  const u64 memory = read_device(at, offset, bytes);
  if (instruction.kind == Kind::Load) {
    const u64 loaded = low_bytes(instruction.is_signed ? sign_extended(memory, bytes) : memory,
                                 instruction.register_bytes);
    // A target of 4 bytes clears what is above it, a shorter one leaves it.
    const unsigned shift = instruction.is_high ? 8 : 0;
    const u64 kept = instruction.register_bytes >= 4
                         ? 0
                         : whole & ~(low_bytes(~u64{0}, instruction.register_bytes) << shift);
    named = static_cast<greg_t>(kept | loaded << shift);
    return true;
  }
  const bool is_right = instruction.kind == Kind::CompareRight;
  const u64 flags = flags_of(instruction.kind == Kind::Test, bytes, is_right ? other : memory,
                             is_right ? memory : other);
  u64 all = static_cast<u64>(registers[REG_EFL]);
  all = (all & ~kArithmeticFlags) | flags;
  registers[REG_EFL] = static_cast<greg_t>(all);
  return true;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  // The access comes again, and ends the process.
  ::signal(SIGBUS, SIG_DFL);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const u64 address = reinterpret_cast<u64>(info->si_addr);
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  std::unique_lock lock(mutex);
  if (!still_holds(last, address)) last = find_mapping(address).value_or(Mapped{});
  if (last.file == nullptr) {
    lock.unlock();
    errno = saved_errno;
    return pass_on(signal, info, context);
  }
  constexpr usize kLongest = 15;
  const std::span<const u8> code(reinterpret_cast<const u8*>(registers[REG_RIP]), kLongest);
  const std::optional<MemoryInstruction> instruction = decode_memory_instruction(code);
  if (instruction &&
      carry_out(*instruction, last, last.offset + (address - last.start), registers)) {
    registers[REG_RIP] += instruction->length;
  } else {
    say(fmt::format(
        "the instruction {:02x} at {:#x} accesses a device's registers, which take words of 4 "
        "and 8 bytes in plain loads, stores and comparisons",
        fmt::join(code, " "), static_cast<u64>(registers[REG_RIP])));
    ::signal(SIGBUS, SIG_DFL);
  }
  errno = saved_errno;
}

}  // namespace

Result<int> make_register_file(const std::string& name, DeviceRegisters registers) {
  const int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0) return fail_errno(errno, "make a file for registers");
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return fail_errno(errno, "look at a file for registers");
  const std::lock_guard lock(mutex);
  // Never freed: a program's destructors may access registers.
  static auto* const all = new std::deque<RegisterFile>;
  if (files == nullptr) {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    // No other handler of this thread accesses a device meanwhile.
    sigfillset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &before) != 0) return fail_errno(errno, "catch SIGBUS");
  }
  files = all;
  files->push_back(
      {status.st_dev, status.st_ino, "/memfd:" + name + " (deleted)", std::move(registers)});
  return descriptor;
}

#else

Result<int> make_register_file(const std::string&, DeviceRegisters) {
  return fail(ErrorKind::Unsupported,
              "registers under another program are emulated on x86-64 alone");
}

#endif

}  // namespace doorbell::emu
