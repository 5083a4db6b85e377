// Queries platforms and devices.
#include "drivers/cl/discover.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/util/try.h"

namespace doorbell::cl {
namespace {

// A text of variable length from one of the clGet...Info functions.
template <class Get, class Object>
std::string text_of(Get get, Object object, cl_uint what) {
  usize size = 0;
  if (get(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (get(object, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

template <class T>
T number_of(const Api& api, cl_device_id device, cl_device_info what) {
  T value{};
  // A property that a device does not report stays 0, the least value.
  (void)api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

bool has_word(std::string_view words, std::string_view word) {
  for (usize at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const usize end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

DeviceInfo describe(const Api& api, cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.platform = text_of(api.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  info.version = text_of(api.clGetPlatformInfo, platform, CL_PLATFORM_VERSION);
  info.name = text_of(api.clGetDeviceInfo, device, CL_DEVICE_NAME);
  info.driver = text_of(api.clGetDeviceInfo, device, CL_DRIVER_VERSION);
  const std::string extensions = text_of(api.clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS);
  info.f16 = has_word(extensions, "cl_khr_fp16");
  info.f64 = has_word(extensions, "cl_khr_fp64");
  const auto type = number_of<cl_device_type>(api, device, CL_DEVICE_TYPE);
  info.gpu = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0;
  const auto single = number_of<cl_device_fp_config>(api, device, CL_DEVICE_SINGLE_FP_CONFIG);
  info.fma = (single & CL_FP_FMA) != 0;
  info.rounds_division = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  info.denormals = (single & CL_FP_DENORM) != 0;
  info.compute_units = number_of<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.group_items = static_cast<i64>(number_of<usize>(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  // Three axes, except on custom devices.
  const auto axes = number_of<std::array<usize, 3>>(api, device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
  std::copy(axes.begin(), axes.end(), info.group_axis);
  info.local_bytes = static_cast<i64>(number_of<cl_ulong>(api, device, CL_DEVICE_LOCAL_MEM_SIZE));
  info.max_allocation =
      static_cast<i64>(number_of<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  info.memory_bytes = static_cast<i64>(number_of<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE));
  info.argument_bytes =
      static_cast<i64>(number_of<usize>(api, device, CL_DEVICE_MAX_PARAMETER_SIZE));
  if (number_of<cl_bool>(api, device, CL_DEVICE_IMAGE_SUPPORT) == CL_TRUE)
    info.image_texels =
        static_cast<i64>(number_of<usize>(api, device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE));
  return info;
}

// Devices that can compile and run programs from source.
bool is_usable(const Api& api, cl_device_id device) {
  return number_of<cl_bool>(api, device, CL_DEVICE_AVAILABLE) == CL_TRUE &&
         number_of<cl_bool>(api, device, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE &&
         number_of<cl_bool>(api, device, CL_DEVICE_ENDIAN_LITTLE) == CL_TRUE;
}

Result<std::vector<cl_platform_id>> platforms(const Api& api) {
  cl_uint count = 0;
  const cl_int code = api.clGetPlatformIDs(0, nullptr, &count);
  if (code != CL_SUCCESS || count == 0)
    return fail(ErrorKind::NotFound,
                "no OpenCL platform ({}): the driver of a device registers one in "
                "/etc/OpenCL/vendors",
                error_name(code));
  std::vector<cl_platform_id> ids(count);
  if (const cl_int again = api.clGetPlatformIDs(count, ids.data(), nullptr); again != CL_SUCCESS)
    return refusal(again, "clGetPlatformIDs", "platforms");
  return ids;
}

}  // namespace

Result<std::vector<Found>> discover(const Api& api, const std::string& platform) {
  TRY(std::vector<cl_platform_id> ids, platforms(api));
  std::vector<Found> found;
  std::string seen;
  for (cl_platform_id id : ids) {
    const std::string name = text_of(api.clGetPlatformInfo, id, CL_PLATFORM_NAME);
    seen += (seen.empty() ? "" : ", ") + name;
    if (lower(name).find(lower(platform)) == std::string::npos) continue;
    cl_uint count = 0;
    if (api.clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    if (api.clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS)
      continue;
    for (cl_device_id device : devices)
      if (is_usable(api, device)) found.push_back({id, device, describe(api, id, device)});
  }
  if (found.empty())
    return fail(ErrorKind::NotFound, "no OpenCL device{}; platforms here are {}",
                platform.empty() ? "" : fmt::format(" of a platform named '{}'", platform), seen);
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.info.gpu && !b.info.gpu; });
  return found;
}

Result<std::vector<DeviceInfo>> find_devices(const std::string& platform) {
  TRY(const Api* api, load_api());
  TRY(std::vector<Found> found, discover(*api, platform));
  std::vector<DeviceInfo> infos;
  for (Found& one : found) infos.push_back(std::move(one.info));
  return infos;
}

}  // namespace doorbell::cl
