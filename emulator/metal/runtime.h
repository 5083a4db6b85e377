// An Objective-C runtime: objects with reference counts, methods by selector, autorelease pools.
// Objects to which nobody has a reference any more are kept for a while, so that a message to one
// is noticed. Which classes there are, and what their methods do, is in metal.h.
//
// Thread safety: all functions may be called from any thread. Methods run one at a time, under
// `mutex`, and so do the kernels that they run.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>

#include "base/util/types.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::metal {

using Selector = const std::string*;
struct Object;

// An object too: its methods are those of its `isa`.
struct ObjectClass {
  const ObjectClass* isa = nullptr;
  std::string name;
  std::map<Selector, void*> methods{};
  void (*destroy)(Object*) = nullptr;
  ObjectClass* metaclass = nullptr;
};

// The beginning of each object; as with Apple's, its first word is its class.
struct Object {
  const ObjectClass* isa = nullptr;
  i64 references = 1;
};

class Runtime {
 public:
  Runtime();
  ~Runtime();

  ObjectClass* class_named(const std::string& name);
  // Of an instance that is a T, which begins with an Object.
  template <class T>
  ObjectClass* define(const std::string& name) {
    ObjectClass* made = class_named(name);
    made->destroy = [](Object* object) { delete reinterpret_cast<T*>(object); };
    return made;
  }
  Selector selector(const std::string& name) { return &*selectors_.insert(name).first; }
  template <class Function>
  void add(ObjectClass* to, const std::string& name, Function* method) {
    to->methods[selector(name)] = reinterpret_cast<void*>(method);
  }

  // ---- under the mutex --------------------------------------------------------------------------
  // A new object, with one reference of the caller's.
  template <class T>
  T* make(const std::string& class_name) {
    auto* object = new T;
    object->head.isa = class_named(class_name);
    alive_.insert(&object->head);
    return object;
  }
  bool is_alive(const Object* object) const { return alive_.contains(const_cast<Object*>(object)); }
  void retain(Object* object) { ++object->references; }
  void release(Object* object);
  // Given to the thread's innermost pool. A broken rule where there is none.
  Object* autorelease(Object* object);
  // Reports it. Where the rule is an error, the command buffers that run next fail with it.
  void broken(const Check& rule, const std::string& what);
  const std::string& fault() const { return fault_; }
  u64 messages() const { return messages_; }  // that were sent
  usize live_objects() const { return alive_.size(); }
  // A broken rule where more objects live: a client that is done has left references.
  void expect_live(usize most);
  // "MTLBuffer", or what is wrong with it.
  std::string describe(const Object* object) const;

  // What runs when the object gets this message; never null.
  void* method(Object* object, Selector selector);
  void* push_pool();
  void pop_pool(void* pool);

  std::recursive_mutex mutex;
  Checks checks;
  Object* device = nullptr;        // the one that there is; made when it is first asked for
  Object* process_info = nullptr;  // the same

 private:
  static constexpr usize kKept = 4096;  // dead objects

  std::map<std::string, std::unique_ptr<ObjectClass>> classes_;
  std::unordered_set<const ObjectClass*> all_classes_;
  std::set<std::string> selectors_;
  std::unordered_set<Object*> alive_;
  std::deque<Object*> dead_;
  std::string fault_;  // the first; empty: none
  u64 messages_ = 0;
};

// That of the process; null before install(). Never destroyed while a client uses it.
Runtime* runtime();
void install(std::unique_ptr<Runtime> runtime);
// "objc_msgSend", "MTLCopyAllDevices"; null: there is no such function.
void* find_symbol(const char* name);

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace doorbell::emu::metal
