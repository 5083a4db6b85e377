// CHECK: a condition that fails only if this program has a bug. On in release builds too; a failure
// throws InternalError (base/util/error.h), which unwinds to the API: the library never aborts the
// process. Failures that input or the system can cause are Results instead (base/util/result.h).
//
//   CHECK(node.valid());
//   CHECK(shape.size() <= 8, "rank {} exceeds 8", shape.size());
//   CHECK_EQ(a.dtype(), b.dtype());     prints both values where fmt can
//   DCHECK(...), DCHECK_EQ(...)         in debug builds only: hot paths, expensive conditions
//   UNREACHABLE("op {}", op);
#pragma once

#include "base/util/check_failed.h"

#define CHECK(condition, ...) DOORBELL_CHECK_AS(condition, #condition __VA_OPT__(, ) __VA_ARGS__)

#ifdef NDEBUG
#define DCHECK(condition, ...) \
  (true ? void() : DOORBELL_CHECK_AS(condition, #condition __VA_OPT__(, ) __VA_ARGS__))
#else
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

#define UNREACHABLE(...) \
  ::doorbell::detail::check_failed(__FILE__, __LINE__, "unreachable" __VA_OPT__(, ) __VA_ARGS__)

#define CHECK_EQ(a, b) DOORBELL_CHECK_COMPARE(Equal, ==, a, b)
#define CHECK_NE(a, b) DOORBELL_CHECK_COMPARE(NotEqual, !=, a, b)
#define CHECK_LT(a, b) DOORBELL_CHECK_COMPARE(Less, <, a, b)
#define CHECK_LE(a, b) DOORBELL_CHECK_COMPARE(LessEqual, <=, a, b)
#define CHECK_GT(a, b) DOORBELL_CHECK_COMPARE(Greater, >, a, b)
#define CHECK_GE(a, b) DOORBELL_CHECK_COMPARE(GreaterEqual, >=, a, b)

#ifdef NDEBUG
#define DCHECK_EQ(a, b) (true ? void() : CHECK_EQ(a, b))
#define DCHECK_NE(a, b) (true ? void() : CHECK_NE(a, b))
#define DCHECK_LT(a, b) (true ? void() : CHECK_LT(a, b))
#define DCHECK_LE(a, b) (true ? void() : CHECK_LE(a, b))
#else
#define DCHECK_EQ(a, b) CHECK_EQ(a, b)
#define DCHECK_NE(a, b) CHECK_NE(a, b)
#define DCHECK_LT(a, b) CHECK_LT(a, b)
#define DCHECK_LE(a, b) CHECK_LE(a, b)
#endif
