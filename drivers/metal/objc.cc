// Opens the frameworks; texts.
#include "drivers/metal/objc.h"

#include <mutex>
#include <vector>

#include "base/os/library.h"
#include "base/util/try.h"

namespace doorbell::metal {
namespace {

// MTLCopyAllDevices finds no device before CoreGraphics is loaded [Apple, "MTLCreateSystemDefault
// Device": "link your app to the Core Graphics framework"].
constexpr std::string_view kLibraries[] = {
    "/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Foundation.framework/Foundation",
    "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
    "/System/Library/Frameworks/Metal.framework/Metal"};

Result<const Api*> open_frameworks() {
  std::vector<const os::Library*> opened;
  for (const std::string_view path : kLibraries) {
    const std::string names[] = {std::string(path)};
    const Result<const os::Library*> library = os::Library::open_for_good(names);
    if (!library)
      return fail(ErrorKind::NotFound, "Metal is a part of macOS only ({})",
                  library.error().message);
    opened.push_back(*library);
  }
  TRY(std::unique_ptr<const Api> api,
      load_api(
          [&](const char* name) -> void* {
            for (const os::Library* library : opened)
              if (const auto found = library->function<void()>(name))
                return reinterpret_cast<void*>(*found);
            return nullptr;
          },
          "Metal"));
  return api.release();
}

}  // namespace

Result<std::unique_ptr<const Api>> load_api(const FindSymbol& find, std::string_view where) {
  auto api = std::make_unique<Api>();
#define F(name, result, arguments)                                \
  api->name = reinterpret_cast<decltype(api->name)>(find(#name)); \
  if (api->name == nullptr) return fail(ErrorKind::NotFound, "{} has no function {}", where, #name);
  DOORBELL_METAL_FUNCTIONS(F)
#undef F
#define F(name, text) api->sel.name = api->sel_registerName(text);
  DOORBELL_METAL_SELECTORS(F)
#undef F
  for (auto [to, name] : {std::pair(&api->string, "NSString"),
                          {&api->process_info, "NSProcessInfo"},
                          {&api->compile_options, "MTLCompileOptions"},
                          {&api->pipeline_descriptor, "MTLComputePipelineDescriptor"},
                          {&api->indirect_descriptor, "MTLIndirectCommandBufferDescriptor"}}) {
    *to = api->objc_getClass(name);
    if (*to == nullptr) return fail(ErrorKind::NotFound, "{} has no class {}", where, name);
  }
  return std::unique_ptr<const Api>(std::move(api));
}

Result<const Api*> load_api() {
  static std::mutex& mutex = *new std::mutex;
  static const Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    TRY(api, open_frameworks());
  }
  TRY(api->check_process());
  return api;
}

std::string Api::text_of(Id string) const {
  const char* text = string == nullptr ? nullptr : send<const char*>(string, sel.utf8_string);
  return text == nullptr ? "" : text;
}

std::string Api::reason(Id error) const {
  if (error == nullptr) return "no reason given";
  return text_of(send<Id>(error, sel.localized_description));
}

}  // namespace doorbell::metal
