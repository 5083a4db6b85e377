// A client of the CUDA driver API that is not ours: compiled against NVIDIA's cuda.h, linked with
// the emulated libcuda. Bytes go to GPU 0, to GPU 1 and back, on two streams that an event and a
// value order.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                        \
  do {                                                   \
    CUresult result = call;                              \
    if (result != CUDA_SUCCESS) {                        \
      const char* name = "?";                            \
      cuGetErrorName(result, &name);                     \
      printf("%s: %s (%d)\n", #call, name, (int)result); \
      exit(1);                                           \
    }                                                    \
  } while (0)

enum { kCount = 1000 };

int main(int count, char** arguments) {
  (void)arguments;
  CUdevice gpu;
  CUcontext context, other;
  CUstream first, second;
  CUevent begin, mark;
  CUdeviceptr from, to, fill;
  unsigned *sent, *received;
  char name[64];
  int major = 0;
  float ms = -1;
  TRY(cuInit(0));
  TRY(cuDeviceGet(&gpu, 0));
  TRY(cuDeviceGetName(name, sizeof name, gpu));
  TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu));
  TRY(cuDevicePrimaryCtxRetain(&other, 1));
  TRY(cuCtxPushCurrent(other));
  TRY(cuMemAlloc(&to, kCount * sizeof *sent));
  TRY(cuCtxPopCurrent(NULL));
  TRY(cuDevicePrimaryCtxRetain(&context, gpu));
  TRY(cuCtxSetCurrent(context));
  TRY(cuMemAlloc(&from, kCount * sizeof *sent));
  TRY(cuMemAlloc(&fill, 16));
  TRY(cuMemHostAlloc((void**)&sent, 2 * kCount * sizeof *sent, CU_MEMHOSTALLOC_PORTABLE));
  received = sent + kCount;
  for (unsigned i = 0; i < kCount; ++i) sent[i] = i * i;
  TRY(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  TRY(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  TRY(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  TRY(cuEventCreate(&mark, CU_EVENT_DEFAULT));
  TRY(cuMemsetD32(fill, 0, 4));
  TRY(cuStreamWaitValue64(first, fill, 1, CU_STREAM_WAIT_VALUE_GEQ));
  TRY(cuEventRecord(begin, first));
  TRY(cuMemcpyHtoDAsync(from, sent, kCount * sizeof *sent, first));
  TRY(cuMemcpyPeerAsync(to, other, from, context, kCount * sizeof *sent, first));
  TRY(cuEventRecord(mark, first));
  TRY(cuStreamWriteValue64(second, fill, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
  TRY(cuStreamWaitEvent(second, mark, 0));
  TRY(cuMemcpyDtoHAsync(received, to, kCount * sizeof *sent, second));
  TRY(cuStreamSynchronize(second));
  TRY(cuEventElapsedTime(&ms, begin, mark));
  for (unsigned i = 0; i < kCount; ++i)
    if (received[i] != i * i || ms < 0) return printf("%u: %u\n", i, received[i]), 1;
  TRY(cuStreamDestroy(first));
  if (count > 1) TRY(cuStreamSynchronize(first));  // a broken rule
  TRY(cuEventDestroy(begin));
  TRY(cuMemFree(from));
  TRY(cuMemFreeHost(sent));
  printf("%s, capability %d.x: %d numbers came back\n", name, major, kCount);
  return 0;
}
