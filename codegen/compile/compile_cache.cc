// The cache as one SQLite table, in WAL mode: readers do not wait for writers, and a process that
// dies while writing leaves the table as it was.
#include "codegen/compile/compile_cache.h"

#include <sqlite3.h>

#include <mutex>

#include "base/util/hash.h"
#include "base/util/log.h"
#include "base/util/try.h"

namespace doorbell::codegen {

namespace {

// Another process holds the write lock for one insert; one that holds it longer than this hangs.
constexpr int kBusyMs = 250;
// No write waits for the disk: entries that a power failure loses or damages are compiled anew.
constexpr const char* kSchema =
    "PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;"
    "CREATE TABLE IF NOT EXISTS kernels(key BLOB PRIMARY KEY, entry BLOB NOT NULL);";

}  // namespace

CacheKey make_cache_key(std::string_view text) {
  return {{hash_bytes(text, 0x6b65726e656c2061), hash_bytes(text, 0x6b65726e656c2062)}};
}

// The connection and its prepared statements. Errors have SQLite's messages.
class CompileCache::Database {
 public:
  ~Database() {
    for (sqlite3_stmt* s : {find_, store_, remove_}) sqlite3_finalize(s);
    sqlite3_close(connection_);
  }

  Result<void> open(const std::string& path, i64 max_bytes) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    TRY(check(sqlite3_open_v2(path.c_str(), &connection_, kFlags, nullptr)));
    sqlite3_busy_timeout(connection_, kBusyMs);
    TRY(set_up());
    TRY(prepare("SELECT entry FROM kernels WHERE key = ?", &find_));
    TRY(prepare("INSERT OR REPLACE INTO kernels VALUES(?, ?)", &store_));
    TRY(prepare("DELETE FROM kernels WHERE key = ?", &remove_));
    return evict(max_bytes);
  }

  // Empty if the key is not there.
  Result<std::vector<u8>> find(const CacheKey& key) {
    sqlite3_bind_blob(find_, 1, &key, sizeof key, SQLITE_STATIC);
    int code = sqlite3_step(find_);
    std::vector<u8> bytes;
    if (code == SQLITE_ROW) {
      auto* data = static_cast<const u8*>(sqlite3_column_blob(find_, 0));
      if (data) bytes.assign(data, data + sqlite3_column_bytes(find_, 0));
    }
    sqlite3_reset(find_);
    if (code != SQLITE_ROW) TRY(check(code));
    return bytes;
  }

  Result<void> store(const CacheKey& key, std::span<const u8> entry) {
    sqlite3_bind_blob(store_, 1, &key, sizeof key, SQLITE_STATIC);
    sqlite3_bind_blob64(store_, 2, entry.data(), entry.size(), SQLITE_STATIC);
    return run(store_);
  }

  Result<void> remove(const CacheKey& key) {
    sqlite3_bind_blob(remove_, 1, &key, sizeof key, SQLITE_STATIC);
    return run(remove_);
  }

  // Whether the file is not a database, or a corrupt one.
  bool damaged() const { return damaged_; }

 private:
  // SQLite does not wait by itself if two processes switch a new file to WAL at once.
  Result<void> set_up() {
    constexpr int kAttempts = 100, kPauseMs = 2;
    for (int attempt = 1;; ++attempt) {
      int code = sqlite3_exec(connection_, kSchema, nullptr, nullptr, nullptr);
      if (code != SQLITE_BUSY || attempt == kAttempts) return check(code);
      sqlite3_sleep(kPauseMs);
    }
  }
  Result<void> check(int code) {
    if (code == SQLITE_OK || code == SQLITE_DONE) return {};
    const char* words = connection_ ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
    bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
    damaged_ |= code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    return fail(busy ? ErrorKind::Busy : ErrorKind::Corrupt, "{} (SQLite {})", words, code);
  }
  Result<void> prepare(const char* text, sqlite3_stmt** statement) {
    return check(sqlite3_prepare_v2(connection_, text, -1, statement, nullptr));
  }
  Result<void> run(sqlite3_stmt* statement) {
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return check(code);
  }
  Result<i64> number(const char* query) {
    sqlite3_stmt* statement = nullptr;
    TRY(prepare(query, &statement));
    int code = sqlite3_step(statement);
    i64 value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW) TRY(check(code));
    return value;
  }
  Result<void> evict(i64 max_bytes) {
    TRY(i64 pages, number("PRAGMA page_count"));
    TRY(i64 page_bytes, number("PRAGMA page_size"));
    TRY(i64 free_pages, number("PRAGMA freelist_count"));
    if ((pages - free_pages) * page_bytes <= max_bytes) return {};
    constexpr const char* kDropOlderHalf =
        "DELETE FROM kernels WHERE rowid <= (SELECT (min(rowid) + max(rowid)) / 2 FROM kernels)";
    return check(sqlite3_exec(connection_, kDropOlderHalf, nullptr, nullptr, nullptr));
  }

  bool damaged_ = false;
  sqlite3* connection_ = nullptr;
  sqlite3_stmt *find_ = nullptr, *store_ = nullptr, *remove_ = nullptr;
};

struct CompileCache::State {
  os::Files& files;
  const std::string path;
  const i64 max_bytes;
  std::mutex mutex;  // guards the members below
  std::unique_ptr<Database> database;
  bool left_out = false;
};

CompileCache::CompileCache(os::Files& files, std::string path, i64 max_bytes)
    : state_(new State{.files = files, .path = std::move(path), .max_bytes = max_bytes}) {}
CompileCache::~CompileCache() = default;

void CompileCache::give_up(std::string_view what, const std::string& why) {
  State& s = *state_;
  log().warn("compile cache {}: {}: {}; continuing without it", s.path, what, why);
  bool damaged = s.database && s.database->damaged();
  s.left_out = true;
  s.database.reset();
  if (!damaged) return;
  // Removes the file: the next process makes a new one. Processes that have it open keep their
  // unlinked file.
  for (const char* part : {"", "-wal", "-shm"}) (void)s.files.remove(s.path + part).has_value();
}

CompileCache::Database* CompileCache::database() {
  State& s = *state_;
  if (s.left_out || s.database) return s.database.get();
  usize slash = s.path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    if (auto made = s.files.make_folders(s.path.substr(0, slash)); !made) {
      give_up("its folder", made.error().message);
      return nullptr;
    }
  }
  s.database = std::make_unique<Database>();
  if (auto opened = s.database->open(s.path, s.max_bytes); !opened) {
    give_up("opening", opened.error().message);
  }
  return s.database.get();
}

std::optional<KernelBinary> CompileCache::find(const CacheKey& key) {
  std::vector<u8> entry;
  {
    std::lock_guard lock(state_->mutex);
    Database* db = database();
    if (db == nullptr) return std::nullopt;
    auto found = db->find(key);
    if (!found) {
      give_up("reading", found.error().message);
      return std::nullopt;
    }
    entry = std::move(*found);
  }
  if (entry.empty()) return std::nullopt;
  auto kernel = decode(entry);
  if (kernel) return std::move(*kernel);
  log().warn("compile cache {}: entry {:016x}{:016x} is bad: {}; compiling anew", state_->path,
             key.words[0], key.words[1], kernel.error().message);
  std::lock_guard lock(state_->mutex);
  if (Database* db = database()) {
    if (auto removed = db->remove(key); !removed) give_up("removing", removed.error().message);
  }
  return std::nullopt;
}

void CompileCache::store(const CacheKey& key, const KernelBinary& kernel) {
  std::vector<u8> entry = encode(kernel);
  std::lock_guard lock(state_->mutex);
  Database* db = database();
  if (db == nullptr) return;
  if (auto stored = db->store(key, entry); !stored) give_up("writing", stored.error().message);
}

bool CompileCache::usable() {
  std::lock_guard lock(state_->mutex);
  return database() != nullptr;
}

}  // namespace doorbell::codegen
