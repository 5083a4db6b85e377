// The part of an exported program that does not depend on it: reading tensors out of a safetensors
// file by name. It looks for what it needs in the header's text, so that a file which another
// program wrote does as well.
#include "tensor/export/c_weights.h"

namespace doorbell::detail {

const char* const kCWeights = R"c(
static _Thread_local char last_error[512];

static int fail(const char* format, const char* name, long long number) {
  snprintf(last_error, sizeof last_error, format, name, number);
  return -1;
}

/* The number after `key` within one tensor's entry of the header; -1 where there is none. */
static long long number_after(const char* from, const char* end, const char* key, int which) {
  const size_t length = strlen(key);
  for (; from + length < end; ++from) {
    if (memcmp(from, key, length) != 0) continue;
    for (from += length; from < end && which >= 0; ++from) {
      if (*from < '0' || *from > '9') continue;
      long long value = 0;
      while (from < end && *from >= '0' && *from <= '9') value = value * 10 + (*from++ - '0');
      if (which-- == 0) return value;
    }
    return -1;
  }
  return -1;
}

/* Copies tensor `name`, which has `bytes` bytes of the dtype, out of the file. */
static int read_tensor(FILE* file, const char* header, size_t header_bytes, const char* name,
                       const char* dtype, size_t bytes, void* to) {
  const char* end = header + header_bytes;
  const size_t length = strlen(name);
  const char* at = header;
  for (; at + length + 3 < end; ++at)
    if (at[0] == '"' && memcmp(at + 1, name, length) == 0 && at[length + 1] == '"' &&
        at[length + 2] == ':')
      break;
  if (at + length + 3 >= end) return fail("the weights have no tensor '%s'", name, 0);
  const char* close = memchr(at, '}', (size_t)(end - at));
  if (close == NULL) return fail("the weights' header ends within tensor '%s'", name, 0);
  char wanted[32];
  const size_t wanted_bytes = (size_t)snprintf(wanted, sizeof wanted, "\"%s\"", dtype);
  const char* found = at + length + 2;
  while (found + wanted_bytes < close && memcmp(found, wanted, wanted_bytes) != 0) ++found;
  if (found + wanted_bytes >= close) return fail("tensor '%s' has another dtype", name, 0);
  const long long begin = number_after(at + length + 2, close, "\"data_offsets\"", 0);
  const long long stop = number_after(at + length + 2, close, "\"data_offsets\"", 1);
  if (begin < 0 || stop < begin || (size_t)(stop - begin) != bytes)
    return fail("tensor '%s' has %lld bytes", name, stop - begin);
  if (bytes == 0) return 0;
  if (fseek(file, (long)(8 + header_bytes + (size_t)begin), SEEK_SET) != 0 ||
      fread(to, 1, bytes, file) != bytes)
    return fail("the weights end within tensor '%s'", name, 0);
  return 0;
}

/* The header's text, from malloc; NULL with an error. */
static char* read_header(FILE* file, size_t* bytes) {
  unsigned char size[8];
  unsigned long long length = 0;
  if (fread(size, 1, 8, file) != 8) return fail("the weights end in their header", "", 0), NULL;
  for (int i = 7; i >= 0; --i) length = length << 8 | size[i];
  char* header = length < (1ull << 30) ? malloc(length + 1) : NULL;
  if (header == NULL || fread(header, 1, length, file) != length) {
    free(header);
    return fail("the weights end in their header", "", 0), NULL;
  }
  header[length] = 0;
  *bytes = (size_t)length;
  return header;
}
)c";

}  // namespace doorbell::detail
