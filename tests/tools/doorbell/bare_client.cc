// A client of a PCI device's registers, of its own: loads from them, stores to them and comparisons
// with them in the forms that compilers make, each beside the same instruction on ordinary memory
// that has the same value. What the processor does with that is what is expected.
//
// usage: bare_client RESOURCE5 WORD_THAT_STAYS WORD_TO_WRITE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

struct Outcome {
  uint64_t value, flags;
};

struct Form {
  const char* text;
  Outcome (*run)(const void* at);
};

// rax has a pattern before; rdi leads to the memory, rsi is 0, rcx has its value plus something.
// The flags are those of 1 - 2 before.
constexpr uint64_t kBefore = 0x8182838485868788, kNear = 0x5ff1;
// Without the auxiliary carry, which TEST leaves undefined.
constexpr uint64_t kFlags = 0x8c5;

#define FORM(text)                                                              \
  {text, [](const void* at) {                                                   \
     uint64_t value = kBefore, flags = 0;                                       \
     asm volatile("lea -128(%%rsp), %%rsp; mov $1, %%edx; cmp $2, %%edx; " text \
                  "; pushfq; pop %1; lea 128(%%rsp), %%rsp"                     \
                  : "+a"(value), "=&r"(flags), "+D"(at)                         \
                  : "S"(uint64_t{0}), "c"(kNear)                                \
                  : "rdx", "r9", "r12", "r13", "cc", "memory");                 \
     return Outcome{value, flags & kFlags};                                     \
   }}

constexpr Form kForms[] = {
    FORM("movl (%%rdi), %%eax"),
    FORM("movl 0x40(%%rdi), %%eax"),
    FORM("movl 0x400(%%rdi), %%eax"),
    FORM("movl (%%rdi,%%rsi,4), %%eax"),
    FORM("movl 0x40(%%rdi,%%rsi,8), %%eax"),
    FORM("mov %%rdi, %%r13; movl (%%r13), %%r12d; movl %%r12d, %%eax"),
    FORM("mov %%rdi, %%r12; movl (%%r12), %%r9d; movl %%r9d, %%eax"),
    FORM("movq (%%rdi), %%rax"),
    FORM("movw (%%rdi), %%ax"),
    FORM("movw 2(%%rdi), %%ax"),
    FORM("movb (%%rdi), %%al"),
    FORM("movb 1(%%rdi), %%ah"),
    FORM("movb 1(%%rdi), %%dil; movb %%dil, %%al"),
    FORM("movzbl 1(%%rdi), %%eax"),
    FORM("movzwl (%%rdi), %%eax"),
    FORM("movsbl (%%rdi), %%eax"),
    FORM("movsbq (%%rdi), %%rax"),
    FORM("movswl (%%rdi), %%eax"),
    FORM("movswq (%%rdi), %%rax"),
    FORM("movsbw (%%rdi), %%ax"),
    FORM("movslq (%%rdi), %%rax"),
    FORM("cmpl %%ecx, (%%rdi)"),
    FORM("cmpl (%%rdi), %%ecx"),
    FORM("cmpq %%rcx, (%%rdi)"),
    FORM("cmpl $0, (%%rdi)"),
    FORM("cmpl $-1, (%%rdi)"),
    FORM("cmpl $0x80000000, (%%rdi)"),
    FORM("cmpl $0x5ff0, (%%rdi)"),
    FORM("cmpw $0x6000, (%%rdi)"),
    FORM("cmpb $0x70, (%%rdi)"),
    FORM("cmpb %%cl, (%%rdi)"),
    FORM("cmpb (%%rdi), %%ch"),
    FORM("testl %%ecx, (%%rdi)"),
    FORM("testb %%cl, (%%rdi)"),
    FORM("testl $0x4000, (%%rdi)"),
    FORM("testb $0x80, (%%rdi)"),
    FORM("testq $-1, (%%rdi)"),
    FORM("testl $0x8000000f, (%%rdi)"),
};

struct StoreForm {
  const char* text;
  void (*run)(void* at);
};

#define STORE(text)                                                                               \
  {text, [](void* at) {                                                                           \
     asm volatile(text ::"D"(at), "S"(uint64_t{0}), "a"(kBefore) : "rdx", "r12", "cc", "memory"); \
   }}

constexpr StoreForm kStores[] = {
    STORE("movl %%eax, (%%rdi)"),
    STORE("movl $0x12345678, (%%rdi)"),
    STORE("mov %%eax, %%r12d; movl %%r12d, (%%rdi,%%rsi,2)"),
    STORE("movl $-2, 0(%%rdi)"),
};

volatile const uint8_t* map_registers(const char* path) {
  const int file = open(path, O_RDWR | O_SYNC);
  if (file < 0) return nullptr;
  void* const mapped = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<volatile const uint8_t*>(mapped);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  auto* const registers = const_cast<uint8_t*>(map_registers(arguments[1]));
  if (registers == nullptr) return 3;
  uint8_t* const stays = registers + 4 * strtoul(arguments[2], nullptr, 0);
  uint8_t* const written = registers + 4 * strtoul(arguments[3], nullptr, 0);

  // What the forms reach, as it is on the device.
  alignas(8) static uint8_t memory[0x408];
  for (const size_t at : {0x0, 0x4, 0x40, 0x400}) {
    const uint32_t value = *reinterpret_cast<volatile uint32_t*>(stays + at);
    memcpy(memory + at, &value, sizeof value);
  }
  int wrong = 0, tried = 0;
  for (const Form& form : kForms) {
    const Outcome device = form.run(stays), plain = form.run(memory);
    ++tried;
    if (device.value == plain.value && device.flags == plain.flags) continue;
    ++wrong;
    printf("%s: %#lx, flags %#lx; of memory %#lx, %#lx\n", form.text, device.value, device.flags,
           plain.value, plain.flags);
  }
  for (const StoreForm& form : kStores) {
    uint32_t plain = 0;
    form.run(written);
    form.run(&plain);
    ++tried;
    const uint32_t device = *reinterpret_cast<volatile uint32_t*>(written);
    if (device == plain) continue;
    ++wrong;
    printf("%s: %#x; of memory %#x\n", form.text, device, plain);
  }
  printf("%d forms, %d wrong; %#x\n", tried, wrong, *reinterpret_cast<volatile uint32_t*>(stays));
  return wrong == 0 ? 0 : 1;
}
