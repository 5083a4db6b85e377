// Reading by libarchive: one pass over the entries.
#include "tensor/io/archive.h"

#include <memory>

#include <archive.h>
#include <archive_entry.h>

#include "base/util/try.h"

namespace doorbell::io {

namespace {

struct Free {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, Free>;

Error refusal(archive* reader) {
  const char* why = archive_error_string(reader);
  return fail(ErrorKind::Corrupt, "no readable archive: {}", why == nullptr ? "unknown" : why);
}

Reader reader_of(ArchiveFormat format) {
  Reader reader(archive_read_new());
  if (!reader) return reader;
  if (format == ArchiveFormat::Zip) {
    archive_read_support_format_zip_seekable(reader.get());
    return reader;
  }
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_xz(reader.get());
  return reader;
}

Result<std::vector<u8>> read_entry(archive* reader, const std::string& name, usize most) {
  constexpr usize kPiece = usize{1} << 16;
  std::vector<u8> bytes;
  for (;;) {
    const usize done = bytes.size();
    bytes.resize(done + kPiece);
    const la_ssize_t read = archive_read_data(reader, bytes.data() + done, kPiece);
    if (read < 0) return refusal(reader);
    bytes.resize(done + static_cast<usize>(read));
    if (bytes.size() > most)
      return fail(ErrorKind::Unsupported, "an archive unpacks to more than {} bytes, at {}", most,
                  name);
    if (read == 0) return bytes;
  }
}

}  // namespace

Result<std::vector<ArchiveEntry>> read_archive(std::span<const u8> archive, ArchiveFormat format,
                                               usize most) {
  const Reader reader = reader_of(format);
  if (!reader) return fail(ErrorKind::OutOfMemory, "no memory to read an archive");
  if (archive_read_open_memory(reader.get(), archive.data(), archive.size()) != ARCHIVE_OK)
    return refusal(reader.get());
  std::vector<ArchiveEntry> entries;
  usize room = most;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return entries;
    if (status < ARCHIVE_WARN) return refusal(reader.get());
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr)
      return fail(ErrorKind::Corrupt, "entry {} of the archive has no readable name",
                  entries.size());
    ArchiveEntry next{.name = name};
    TRY(next.bytes, read_entry(reader.get(), next.name, room));
    room -= next.bytes.size();
    entries.push_back(std::move(next));
  }
}

}  // namespace doorbell::io
