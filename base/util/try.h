// TRY: the value of a Result, or its error returned from the calling function. Internal: not used
// in headers that users include.
// TRY(auto file, open(path));  declares `file`, or returns the error from the calling function.
// TRY(existing, open(path));   assigns.        TRY(file.close());   for Result<void>.
#pragma once

#include "base/util/result.h"

#define TRY(first, ...) \
  DOORBELL_TRY_KIND(__VA_ARGS__)(DOORBELL_TRY_NAME(__COUNTER__), first, __VA_ARGS__)

#define DOORBELL_TRY_KIND(...) DOORBELL_TRY_KIND_1(__VA_OPT__(value, ) void, )
#define DOORBELL_TRY_KIND_1(kind, ...) DOORBELL_TRY_KIND_2(kind)
#define DOORBELL_TRY_KIND_2(kind) doorbell_try_##kind
#define DOORBELL_TRY_NAME(count) DOORBELL_TRY_NAME_1(count)
#define DOORBELL_TRY_NAME_1(count) try_result_##count
#define doorbell_try_value(result, target, ...) \
  auto result = (__VA_ARGS__);                  \
  if (!result) [[unlikely]]                     \
    return std::move(result).error();           \
  target = std::move(result).value()
#define doorbell_try_void(result, expression, ...) \
  do {                                             \
    auto result = (expression);                    \
    if (!result) [[unlikely]]                      \
      return std::move(result).error();            \
  } while (false)
