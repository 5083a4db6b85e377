// libcurl's easy interface: its headers at build time (meson sets DOORBELL_CURL), its library at
// run time.
#include "base/os/fetch.h"

#if DOORBELL_CURL
#include <curl/curl.h>

#include <memory>
#include <mutex>

#include "base/os/library.h"
#include "base/util/try.h"
#endif

namespace doorbell::os {

#if DOORBELL_CURL

namespace {

// curl.h has macros with these names that check arguments.
#undef curl_easy_setopt
#undef curl_easy_getinfo
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) setopt;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) getinfo;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_strerror) strerror;
};

Result<const Curl*> open_curl() {
  const std::string names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
  Result<const Library*> library = Library::open_for_good(names);
  if (!library)
    return fail(ErrorKind::NotFound, "no libcurl ({}); install libcurl4", library.error().message);
  auto curl = std::make_unique<Curl>();
#define FIND(field, symbol) \
  TRY(curl->field, (*library)->function<std::remove_pointer_t<decltype(curl->field)>>(symbol));
  FIND(global_init, "curl_global_init")
  FIND(easy_init, "curl_easy_init")
  FIND(setopt, "curl_easy_setopt")
  FIND(perform, "curl_easy_perform")
  FIND(getinfo, "curl_easy_getinfo")
  FIND(cleanup, "curl_easy_cleanup")
  FIND(strerror, "curl_easy_strerror")
#undef FIND
  if (const CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    return fail(ErrorKind::Internal, "libcurl does not start: {}", curl->strerror(code));
  return curl.release();
}

Result<const Curl*> load_curl() {
  static std::mutex& mutex = *new std::mutex;
  static const Curl* curl = nullptr;
  std::lock_guard lock(mutex);
  if (curl == nullptr) {
    TRY(curl, open_curl());
  }
  return curl;
}

struct Body {
  std::vector<u8> bytes;
  usize most;
  bool too_many = false;
};

size_t take(char* data, size_t size, size_t count, void* opaque) {
  auto& body = *static_cast<Body*>(opaque);
  if (size * count > body.most - body.bytes.size()) {
    body.too_many = true;
    return 0;  // libcurl stops
  }
  body.bytes.insert(body.bytes.end(), data, data + size * count);
  return size * count;
}

}  // namespace

Result<std::vector<u8>> fetch_url(const std::string& url, usize max_bytes) {
  TRY(const Curl* curl, load_curl());
  const std::unique_ptr<CURL, decltype(curl->cleanup)> session(curl->easy_init(), curl->cleanup);
  if (!session) return fail(ErrorKind::OutOfMemory, "libcurl has no memory for {}", url);
  Body body{.most = max_bytes};
  char reason[CURL_ERROR_SIZE] = "";
  CURL* const handle = session.get();
  curl->setopt(handle, CURLOPT_URL, url.c_str());
  curl->setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl->setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl->setopt(handle, CURLOPT_MAXREDIRS, 10L);
  curl->setopt(handle, CURLOPT_FAILONERROR, 1L);
  curl->setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl->setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl->setopt(handle, CURLOPT_LOW_SPEED_TIME, 60L);
  curl->setopt(handle, CURLOPT_USERAGENT, "doorbell");
  curl->setopt(handle, CURLOPT_ERRORBUFFER, reason);
  curl->setopt(handle, CURLOPT_WRITEFUNCTION, take);
  curl->setopt(handle, CURLOPT_WRITEDATA, &body);
  const CURLcode code = curl->perform(handle);
  if (body.too_many) return fail(ErrorKind::Unsupported, "{}: more than {} bytes", url, max_bytes);
  if (code == CURLE_HTTP_RETURNED_ERROR) {
    long status = 0;
    curl->getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return fail(ErrorKind::NotFound, "{}: the server answers {}", url, status);
  }
  if (code != CURLE_OK)
    return fail(ErrorKind::Os, "{}: {}", url, reason[0] != 0 ? reason : curl->strerror(code));
  return std::move(body.bytes);
}

#else

Result<std::vector<u8>> fetch_url(const std::string& url, usize) {
  return fail(ErrorKind::Unsupported,
              "{}: this build has no libcurl (libcurl4-openssl-dev); fetch the file first", url);
}

#endif

}  // namespace doorbell::os
