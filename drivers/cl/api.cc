// Opens the ICD loader; names of errors.
#include "drivers/cl/api.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "base/os/library.h"
#include "base/util/try.h"

namespace doorbell::cl {
namespace {

Result<const Api*> open_loader() {
  const std::string names[] = {"libOpenCL.so.1", "libOpenCL.so"};
  Result<const os::Library*> library = os::Library::open_for_good(names);
  if (!library)
    return fail(ErrorKind::NotFound,
                "no OpenCL ICD loader ({}); install ocl-icd-libopencl1 and the driver of a device",
                library.error().message);
  auto api = std::make_unique<Api>();
#define F(name) \
  TRY(api->name, (*library)->function<std::remove_pointer_t<decltype(api->name)>>(#name));
  DOORBELL_CL_FUNCTIONS(F)
#undef F
  return api.release();
}

}  // namespace

Result<const Api*> load_api() {
  static std::mutex& mutex = *new std::mutex;
  static const Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    TRY(api, open_loader());
  }
  TRY(api->check_process());
  return api;
}

std::string error_name(cl_int code) {
  switch (code) {
#define NAME(name) \
  case name: return #name;
    NAME(CL_SUCCESS)
    NAME(CL_DEVICE_NOT_FOUND)
    NAME(CL_DEVICE_NOT_AVAILABLE)
    NAME(CL_COMPILER_NOT_AVAILABLE)
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    NAME(CL_OUT_OF_RESOURCES)
    NAME(CL_OUT_OF_HOST_MEMORY)
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    NAME(CL_MEM_COPY_OVERLAP)
    NAME(CL_IMAGE_FORMAT_MISMATCH)
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED)
    NAME(CL_BUILD_PROGRAM_FAILURE)
    NAME(CL_MAP_FAILURE)
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    NAME(CL_COMPILE_PROGRAM_FAILURE)
    NAME(CL_LINKER_NOT_AVAILABLE)
    NAME(CL_LINK_PROGRAM_FAILURE)
    NAME(CL_DEVICE_PARTITION_FAILED)
    NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
    NAME(CL_INVALID_VALUE)
    NAME(CL_INVALID_DEVICE_TYPE)
    NAME(CL_INVALID_PLATFORM)
    NAME(CL_INVALID_DEVICE)
    NAME(CL_INVALID_CONTEXT)
    NAME(CL_INVALID_QUEUE_PROPERTIES)
    NAME(CL_INVALID_COMMAND_QUEUE)
    NAME(CL_INVALID_HOST_PTR)
    NAME(CL_INVALID_MEM_OBJECT)
    NAME(CL_INVALID_BINARY)
    NAME(CL_INVALID_BUILD_OPTIONS)
    NAME(CL_INVALID_PROGRAM)
    NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    NAME(CL_INVALID_KERNEL_NAME)
    NAME(CL_INVALID_KERNEL_DEFINITION)
    NAME(CL_INVALID_KERNEL)
    NAME(CL_INVALID_ARG_INDEX)
    NAME(CL_INVALID_ARG_VALUE)
    NAME(CL_INVALID_ARG_SIZE)
    NAME(CL_INVALID_KERNEL_ARGS)
    NAME(CL_INVALID_WORK_DIMENSION)
    NAME(CL_INVALID_WORK_GROUP_SIZE)
    NAME(CL_INVALID_WORK_ITEM_SIZE)
    NAME(CL_INVALID_GLOBAL_OFFSET)
    NAME(CL_INVALID_EVENT_WAIT_LIST)
    NAME(CL_INVALID_EVENT)
    NAME(CL_INVALID_OPERATION)
    NAME(CL_INVALID_BUFFER_SIZE)
    NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    NAME(CL_INVALID_PROPERTY)
    NAME(CL_INVALID_COMPILER_OPTIONS)
    NAME(CL_INVALID_LINKER_OPTIONS)
#undef NAME
    // cl_khr_icd, in CL/cl_ext.h.
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return fmt::format("error {}", code);
  }
}

ErrorKind error_kind(cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE: return ErrorKind::OutOfMemory;
    case CL_DEVICE_NOT_FOUND:
    case -1001: return ErrorKind::NotFound;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE: return ErrorKind::Compile;
    case CL_COMPILER_NOT_AVAILABLE: return ErrorKind::Unsupported;
    case CL_INVALID_BINARY: return ErrorKind::Corrupt;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return ErrorKind::DeviceLost;
    default: return ErrorKind::Os;
  }
}

Error refusal(cl_int code, std::string_view call, std::string_view what) {
  return fail(error_kind(code), "{}: {}: {}", call, error_name(code), what);
}

}  // namespace doorbell::cl
