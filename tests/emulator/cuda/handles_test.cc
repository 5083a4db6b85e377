// Handles, contexts, and calls before they may be made.
#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

TEST_F(ApiTest, NothingWorksBeforeCuInit) {
  shut();
  install(*Driver::create({}));
  int gpus = -1;
  EXPECT_EQ(cuDeviceGetCount(&gpus), kNotInitialized);
  EXPECT_EQ(count(kInitialised), 1u);
  EXPECT_EQ(cuInit(1), kInvalidValue);
  EXPECT_EQ(cuInit(0), kSuccess);
  EXPECT_EQ(cuDeviceGetCount(&gpus), kSuccess);
  EXPECT_EQ(gpus, 1);
}

TEST_F(ApiTest, CallsNeedACurrentContext) {
  Handle popped = 0;
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), kSuccess);
  EXPECT_EQ(popped, context);
  u64 address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, 16), kInvalidContext);
  EXPECT_EQ(count(kCurrent), 1u);
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), kInvalidContext);
  EXPECT_EQ(count(kPop), 1u);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
  EXPECT_EQ(cuMemAlloc_v2(&address, 16), kSuccess);
}

TEST_F(ApiTest, DestroyedHandlesAreToldByName) {
  const Handle gone = stream();
  EXPECT_EQ(cuStreamDestroy_v2(gone), kSuccess);
  EXPECT_EQ(cuStreamQuery(gone), kInvalidHandle);
  const Handle past = event();
  EXPECT_EQ(cuEventDestroy_v2(past), kSuccess);
  EXPECT_EQ(cuEventRecord(past, stream()), kInvalidHandle);
  EXPECT_EQ(cuEventDestroy_v2(past), kInvalidHandle);
  EXPECT_EQ(count(kHandle), 3u);
  EXPECT_NE(driver()->checks.reports()[0].message.find("cuStreamQuery"), std::string::npos);
}

TEST_F(ApiTest, PrimaryContextsAreCounted) {
  Handle first = 0, second = 0;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 1), kSuccess);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 1), kSuccess);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kSuccess);
  EXPECT_EQ(cuCtxPushCurrent_v2(first), kSuccess);
  int gpu = -1;
  EXPECT_EQ(cuCtxGetDevice(&gpu), kSuccess);
  EXPECT_EQ(gpu, 1);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), kSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kSuccess);
  EXPECT_EQ(cuCtxPushCurrent_v2(first), kInvalidHandle);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kInvalidContext);
}

TEST_F(ApiTest, EventsAndStreamsAreOfOneContext) {
  const Handle ours = stream();
  Handle other = 0;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), kSuccess);
  EXPECT_EQ(cuEventRecord(event(), ours), kInvalidHandle);
  EXPECT_EQ(count(kSameContext), 1u);
}

// The numbers and names of cuda.h.
TEST_F(ApiTest, ResultsHaveNames) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(700, &text), kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorName(12345, &text), kInvalidValue);
  EXPECT_EQ(text, nullptr);
}

TEST_F(ApiTest, FunctionsAreFoundByName) {
  void* function = nullptr;
  int found = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &found), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuCtxCreate", &function, 12000, 0, &found), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxCreate_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuCtxCreate", &function, 13000, 0, &found), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxCreate_v4));
  EXPECT_EQ(cuGetProcAddress_v2("cuNoSuchCall", &function, 13000, 0, &found), kNotFound);
  EXPECT_EQ(function, nullptr);
}

// NVRTC 13.2 looks for one, and crashes where the function is missing.
TEST_F(ApiTest, ThereAreNoExportTables) {
  const Uuid id{};
  const void* table = nullptr;
  EXPECT_EQ(cuGetExportTable(&table, &id), kNotFound);
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(cuGetExportTable(nullptr, &id), kInvalidValue);
}

TEST(ChipNames, UnknownOnesAreRefused) {
  const auto made = Driver::create({.gpus = "sm_90,sm_33"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("sm_33"), std::string::npos) << made.error().message;
}

TEST(ChipNames, PartitionsHaveFewerMultiprocessors) {
  const auto chips = parse_gpus("sm_90:16,sm_90");
  ASSERT_TRUE(chips);
  EXPECT_EQ((*chips)[0].multiprocessors, 16);
  EXPECT_EQ((*chips)[1].multiprocessors, 132);
  for (const char* wrong : {"sm_90:0", "sm_90:133", "sm_90:", "sm_90:4x", "sm_90:-1", ""})
    EXPECT_FALSE(parse_gpus(wrong)) << wrong;
}

}  // namespace
}  // namespace doorbell::emu::cuda
