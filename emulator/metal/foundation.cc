// Strings, arrays, errors and what every object has.
#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

Runtime& here() { return *runtime(); }

Object* retain(Object* self, Selector) {
  const Lock lock(here().mutex);
  here().retain(self);
  return self;
}
void release(Object* self, Selector) {
  const Lock lock(here().mutex);
  here().release(self);
}

Object* string_with_utf8(ObjectClass*, Selector, const char* text) {
  const Lock lock(here().mutex);
  return string_of(here(), text);
}
const char* utf8_string(String* self, Selector) { return self->text.c_str(); }

u64 count(Array* self, Selector) { return self->objects.size(); }
Object* object_at(Array* self, Selector, u64 index) { return self->objects.at(index); }

Object* localized_description(Failure* self, Selector) { return self->description; }

Object* process_info(ObjectClass*, Selector) {
  const Lock lock(here().mutex);
  if (here().process_info == nullptr)
    here().process_info = &here().make<String>("NSProcessInfo")->head;
  return here().process_info;
}
// macOS 14.
bool is_at_least(Object*, Selector, Version version) {
  return version.major < 14 || (version.major == 14 && version.minor == 0);
}

}  // namespace

Object* string_of(Runtime& runtime, const std::string& text) {
  String* made = runtime.make<String>("NSString");
  made->text = text;
  return runtime.autorelease(&made->head);
}

void set_error(Runtime& runtime, Object** error, const std::string& text) {
  if (error == nullptr) return;
  Failure* made = runtime.make<Failure>("NSError");
  made->description = string_of(runtime, text);
  runtime.retain(made->description);
  *error = runtime.autorelease(&made->head);
}

void add_foundation(Runtime& runtime) {
  const auto with_references = [&](ObjectClass* made) {
    runtime.add(made, "retain", retain);
    runtime.add(made, "release", release);
    return made;
  };
  ObjectClass* string = with_references(runtime.define<String>("NSString"));
  runtime.add(string->metaclass, "stringWithUTF8String:", string_with_utf8);
  runtime.add(string, "UTF8String", utf8_string);
  ObjectClass* array = with_references(runtime.define<Array>("NSArray"));
  runtime.add(array, "count", count);
  runtime.add(array, "objectAtIndex:", object_at);
  ObjectClass* error = with_references(runtime.define<Failure>("NSError"));
  runtime.add(error, "localizedDescription", localized_description);
  ObjectClass* process = with_references(runtime.define<String>("NSProcessInfo"));
  runtime.add(process->metaclass, "processInfo", process_info);
  runtime.add(process, "isOperatingSystemAtLeastVersion:", is_at_least);
  with_references(runtime.define<Device>("MTLDevice"));
  with_references(runtime.define<CompileOptions>("MTLCompileOptions"));
  with_references(runtime.define<Library>("MTLLibrary"));
  with_references(runtime.define<Function>("MTLFunction"));
  with_references(runtime.define<Pipeline>("MTLComputePipelineState"));
  with_references(runtime.define<PipelineDescriptor>("MTLComputePipelineDescriptor"));
  with_references(runtime.define<IndirectDescriptor>("MTLIndirectCommandBufferDescriptor"));
  with_references(runtime.define<IndirectCommands>("MTLIndirectCommandBuffer"));
  with_references(runtime.define<IndirectCommandAt>("MTLIndirectComputeCommand"));
  with_references(runtime.define<Buffer>("MTLBuffer"));
  with_references(runtime.define<Queue>("MTLCommandQueue"));
  with_references(runtime.define<CommandBuffer>("MTLCommandBuffer"));
  with_references(runtime.define<Encoder>("MTLComputeCommandEncoder"));
  with_references(runtime.define<Encoder>("MTLBlitCommandEncoder"));
}

void add_metal_classes(Runtime& runtime) {
  add_foundation(runtime);
  add_device(runtime);
  add_commands(runtime);
  add_indirect(runtime);
}

void before_destroy(Runtime& runtime, Object* object) {
  const std::string& name = object->isa->name;
  const auto release_all = [&](const std::vector<Object*>& objects) {
    for (Object* each : objects) runtime.release(each);
  };
  if (name == "NSError") {
    runtime.release(reinterpret_cast<Failure*>(object)->description);
  } else if (name == "NSArray") {
    release_all(reinterpret_cast<Array*>(object)->objects);
  } else if (name == "MTLCommandBuffer") {
    auto* commands = reinterpret_cast<CommandBuffer*>(object);
    if (commands->encoding)
      runtime.broken(kEnded, "a command buffer is released while it has an encoder");
    if (commands->state == CommandBuffer::State::Made) --commands->queue->alive;
    for (const auto& work : commands->work)
      if (const auto* indirect = std::get_if<Indirect>(&work)) --indirect->commands->on_their_way;
    commands->work.clear();
    release_all(commands->keeps);
  } else if (name == "MTLComputePipelineDescriptor") {
    auto* descriptor = reinterpret_cast<PipelineDescriptor*>(object);
    if (descriptor->function != nullptr) runtime.release(&descriptor->function->head);
  } else if (name == "MTLIndirectComputeCommand") {
    runtime.release(&reinterpret_cast<IndirectCommandAt*>(object)->all->head);
  } else if (name.ends_with("CommandEncoder")) {
    auto* encoder = reinterpret_cast<Encoder*>(object);
    if (!encoder->ended) runtime.broken(kEnded, name + " is released without endEncoding");
    runtime.release(&encoder->commands->head);
  } else if (name == "MTLBuffer") {
    auto* buffer = reinterpret_cast<Buffer*>(object);
    if (!margins_are_whole(*buffer)) runtime.broken(kOutside, "beside " + runtime.describe(object));
    // Kept for messages, not for its bytes.
    buffer->storage = {};
  }
}

}  // namespace doorbell::emu::metal
