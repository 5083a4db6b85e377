// Messages, references and pools.
#include "emulator/metal/runtime.h"

#include <fmt/format.h>

#include <vector>

#include "base/util/check.h"
#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

std::unique_ptr<Runtime>& installed() {
  // Never destroyed at the end of the process: destructors of the program may send messages.
  static std::unique_ptr<Runtime>& runtime = *new std::unique_ptr<Runtime>;
  return runtime;
}

// The objects of a thread's pools; a pool begins with a null.
std::vector<Object*>& pools() {
  thread_local std::vector<Object*> objects;
  return objects;
}

// What nil, and an object without the method, answers: nothing, in every register of a result.
u64 no_method() {
  asm volatile("" ::: "memory");
  return 0;
}
f64 no_number() { return 0; }

}  // namespace

Runtime* runtime() { return installed().get(); }
void install(std::unique_ptr<Runtime> runtime) { installed() = std::move(runtime); }

Runtime::Runtime() { add_metal_classes(*this); }

Runtime::~Runtime() {
  for (Object* object : dead_) object->isa->destroy(object);
  for (Object* object : alive_) object->isa->destroy(object);
}

void Runtime::broken(const Check& rule, const std::string& what) {
  if (checks.report(rule, what) == Level::Error && fault_.empty())
    fault_ = std::string(rule.id) + ": " + what;
}

void Runtime::expect_live(usize most) {
  if (alive_.size() <= most) return;
  std::map<std::string, usize> by_class;
  for (const Object* object : alive_) ++by_class[object->isa->name];
  std::string what;
  for (const auto& [name, count] : by_class) what += fmt::format(" {} {}", count, name);
  broken(kLeak, fmt::format("{} objects live, expected at most {}:{}", alive_.size(), most, what));
}

ObjectClass* Runtime::class_named(const std::string& name) {
  std::unique_ptr<ObjectClass>& made = classes_[name];
  if (made == nullptr) {
    made = std::make_unique<ObjectClass>();
    made->name = name;
    std::unique_ptr<ObjectClass>& meta = classes_["metaclass of " + name];
    meta = std::make_unique<ObjectClass>();
    meta->name = name;
    made->isa = made->metaclass = meta.get();
    all_classes_.insert(made.get());
  }
  return made.get();
}

std::string Runtime::describe(const Object* object) const {
  if (!is_alive(object))
    return fmt::format("{}, which is no object, or was released", static_cast<const void*>(object));
  return fmt::format("{} {}", object->isa->name, static_cast<const void*>(object));
}

void* Runtime::method(Object* object, Selector selector) {
  ++messages_;
  const auto none = [&]() -> void* {
    const bool is_number = *selector == "GPUStartTime" || *selector == "GPUEndTime";
    return is_number ? reinterpret_cast<void*>(no_number) : reinterpret_cast<void*>(no_method);
  };
  if (object == nullptr) return none();
  const bool is_class = all_classes_.contains(reinterpret_cast<const ObjectClass*>(object));
  if (!is_class && !is_alive(object)) {
    broken(kAlive, fmt::format("{} is sent to {}", *selector, describe(object)));
    return none();
  }
  const auto found = object->isa->methods.find(selector);
  if (found != object->isa->methods.end()) return found->second;
  broken(kSelector, fmt::format("{} is sent to {}", *selector, object->isa->name));
  return none();
}

void Runtime::release(Object* object) {
  if (--object->references > 0) return;
  before_destroy(*this, object);
  alive_.erase(object);
  dead_.push_back(object);
  if (dead_.size() <= kKept) return;
  Object* oldest = dead_.front();
  dead_.pop_front();
  oldest->isa->destroy(oldest);
}

Object* Runtime::autorelease(Object* object) {
  if (pools().empty())
    broken(kPool, fmt::format("{} is autoreleased, and the thread has no pool", describe(object)));
  else
    pools().push_back(object);
  return object;
}

void* Runtime::push_pool() {
  pools().push_back(nullptr);
  return reinterpret_cast<void*>(pools().size());
}

void Runtime::pop_pool(void* pool) {
  const usize begin = reinterpret_cast<usize>(pool);
  std::vector<Object*>& objects = pools();
  if (begin == 0 || begin > objects.size() || objects[begin - 1] != nullptr) {
    broken(kPool, "a pool ends that is not open");
    return;
  }
  while (objects.size() >= begin) {
    Object* last = objects.back();
    objects.pop_back();
    if (last != nullptr) release(last);
  }
}

namespace {

// ---- the functions ------------------------------------------------------------------------------

ObjectClass* objc_get_class(const char* name) {
  const Lock lock(runtime()->mutex);
  return runtime()->class_named(name);
}
Selector sel_register_name(const char* name) {
  const Lock lock(runtime()->mutex);
  return runtime()->selector(name);
}
// Of any memory: it only reads the first word.
[[gnu::no_sanitize("address")]] const ObjectClass* object_get_class(const Object* object) {
  return object == nullptr ? nullptr : object->isa;
}
void* pool_push() {
  const Lock lock(runtime()->mutex);
  return runtime()->push_pool();
}
void pool_pop(void* pool) {
  const Lock lock(runtime()->mutex);
  runtime()->pop_pool(pool);
}
Object* copy_all_devices() {
  const Lock lock(runtime()->mutex);
  return all_devices(*runtime());
}

}  // namespace

extern "C" {
[[gnu::used, gnu::visibility("hidden")]] void* doorbell_emulated_method(Object* object,
                                                                        Selector selector) {
  const Lock lock(runtime()->mutex);
  return runtime()->method(object, selector);
}
void doorbell_emulated_msgSend();
}

// A message reaches its method with the registers and the stack of its sender, whatever arguments
// it has. [System V ABI, AMD64, 3.2.3 "Parameter Passing"]
#if defined(__x86_64__)
asm(R"(
.text
.hidden doorbell_emulated_msgSend
.globl doorbell_emulated_msgSend
.type doorbell_emulated_msgSend, @function
doorbell_emulated_msgSend:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $176, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  call doorbell_emulated_method
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movups 48(%rsp), %xmm0
  movups 64(%rsp), %xmm1
  movups 80(%rsp), %xmm2
  movups 96(%rsp), %xmm3
  movups 112(%rsp), %xmm4
  movups 128(%rsp), %xmm5
  movups 144(%rsp), %xmm6
  movups 160(%rsp), %xmm7
  leave
  .cfi_def_cfa %rsp, 8
  jmpq *%r11
  .cfi_endproc
.size doorbell_emulated_msgSend, .-doorbell_emulated_msgSend
)");
constexpr void (*kMsgSend)() = doorbell_emulated_msgSend;
#else
constexpr void (*kMsgSend)() = nullptr;
#endif

void* find_symbol(const char* name) {
  const std::string_view wanted = name;
  const auto as = [](auto* function) { return reinterpret_cast<void*>(function); };
  if (wanted == "objc_getClass") return as(objc_get_class);
  if (wanted == "sel_registerName") return as(sel_register_name);
  if (wanted == "objc_msgSend") return as(kMsgSend);
  if (wanted == "object_getClass") return as(object_get_class);
  if (wanted == "objc_autoreleasePoolPush") return as(pool_push);
  if (wanted == "objc_autoreleasePoolPop") return as(pool_pop);
  if (wanted == "MTLCopyAllDevices") return as(copy_all_devices);
  return nullptr;
}

}  // namespace doorbell::emu::metal
