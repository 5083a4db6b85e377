// SQLite in WAL mode: readers do not wait for writers, and a process that dies while writing leaves
// the table as it was.
#include "codegen/compile/disk_table.h"

#include <sqlite3.h>

#include <cstring>
#include <mutex>

#include "base/util/format.h"
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
    "CREATE TABLE IF NOT EXISTS {}(key BLOB PRIMARY KEY, entry BLOB NOT NULL);";

}  // namespace

CacheKey make_cache_key(std::string_view text) {
  return {{hash_bytes(text, 0x6b65726e656c2061), hash_bytes(text, 0x6b65726e656c2062)}};
}

// The connection and its prepared statements. Errors have SQLite's messages.
class DiskTable::Database {
 public:
  ~Database() {
    for (sqlite3_stmt* s : {find_, store_, remove_, all_}) sqlite3_finalize(s);
    sqlite3_close(connection_);
  }

  Result<void> open(const Place& place) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    TRY(check(sqlite3_open_v2(place.path.c_str(), &connection_, kFlags, nullptr)));
    sqlite3_busy_timeout(connection_, kBusyMs);
    TRY(set_up(fmt::format(kSchema, place.name)));
    TRY(prepare(fmt::format("SELECT entry FROM {} WHERE key = ?", place.name), &find_));
    TRY(prepare(fmt::format("INSERT OR REPLACE INTO {} VALUES(?, ?)", place.name), &store_));
    TRY(prepare(fmt::format("DELETE FROM {} WHERE key = ?", place.name), &remove_));
    TRY(prepare(fmt::format("SELECT key, entry FROM {} ORDER BY rowid", place.name), &all_));
    return evict(place);
  }

  // Empty if the key is not there.
  Result<std::vector<u8>> find(const CacheKey& key) {
    sqlite3_bind_blob(find_, 1, &key, sizeof key, SQLITE_STATIC);
    int code = sqlite3_step(find_);
    std::vector<u8> bytes;
    if (code == SQLITE_ROW) bytes = column(find_, 0);
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

  Result<std::vector<std::pair<CacheKey, std::vector<u8>>>> all() {
    std::vector<std::pair<CacheKey, std::vector<u8>>> entries;
    int code;
    while ((code = sqlite3_step(all_)) == SQLITE_ROW) {
      const std::vector<u8> key = column(all_, 0);
      CacheKey words{};
      if (key.size() != sizeof words) continue;
      std::memcpy(&words, key.data(), sizeof words);
      entries.emplace_back(words, column(all_, 1));
    }
    sqlite3_reset(all_);
    TRY(check(code));
    return entries;
  }

  // Whether the file is not a database, or a corrupt one.
  bool damaged() const { return damaged_; }

 private:
  static std::vector<u8> column(sqlite3_stmt* row, int index) {
    auto* data = static_cast<const u8*>(sqlite3_column_blob(row, index));
    if (data == nullptr) return {};
    return std::vector<u8>(data, data + sqlite3_column_bytes(row, index));
  }
  // SQLite does not wait by itself if two processes switch a new file to WAL at once.
  Result<void> set_up(const std::string& schema) {
    constexpr int kAttempts = 100, kPauseMs = 2;
    for (int attempt = 1;; ++attempt) {
      int code = sqlite3_exec(connection_, schema.c_str(), nullptr, nullptr, nullptr);
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
  Result<void> prepare(const std::string& text, sqlite3_stmt** statement) {
    return check(sqlite3_prepare_v2(connection_, text.c_str(), -1, statement, nullptr));
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
  Result<void> evict(const Place& place) {
    TRY(i64 pages, number("PRAGMA page_count"));
    TRY(i64 page_bytes, number("PRAGMA page_size"));
    TRY(i64 free_pages, number("PRAGMA freelist_count"));
    if ((pages - free_pages) * page_bytes <= place.max_bytes) return {};
    const std::string drop_older_half = fmt::format(
        "DELETE FROM {0} WHERE rowid <= (SELECT (min(rowid) + max(rowid)) / 2 FROM {0})",
        place.name);
    return check(sqlite3_exec(connection_, drop_older_half.c_str(), nullptr, nullptr, nullptr));
  }

  bool damaged_ = false;
  sqlite3* connection_ = nullptr;
  sqlite3_stmt *find_ = nullptr, *store_ = nullptr, *remove_ = nullptr, *all_ = nullptr;
};

struct DiskTable::State {
  os::Files& files;
  const Place place;
  std::mutex mutex;  // guards the members below
  std::unique_ptr<Database> database;
  bool left_out = false;
};

DiskTable::DiskTable(os::Files& files, Place place)
    : state_(new State{.files = files, .place = std::move(place)}) {}
DiskTable::~DiskTable() = default;

const std::string& DiskTable::path() const { return state_->place.path; }

void DiskTable::give_up(std::string_view what, const std::string& why) {
  State& s = *state_;
  log().warn("{} {}: {}: {}; continuing without it", s.place.what, path(), what, why);
  bool damaged = s.database && s.database->damaged();
  s.left_out = true;
  s.database.reset();
  if (!damaged) return;
  // Removes the file: the next process makes a new one. Processes that have it open keep their
  // unlinked file.
  for (const char* part : {"", "-wal", "-shm"}) (void)s.files.remove(path() + part).has_value();
}

DiskTable::Database* DiskTable::database() {
  State& s = *state_;
  if (s.left_out || s.database) return s.database.get();
  usize slash = path().rfind('/');
  if (slash != std::string::npos && slash > 0) {
    if (auto made = s.files.make_folders(path().substr(0, slash)); !made) {
      give_up("its folder", made.error().message);
      return nullptr;
    }
  }
  s.database = std::make_unique<Database>();
  if (auto opened = s.database->open(s.place); !opened) {
    give_up("opening", opened.error().message);
  }
  return s.database.get();
}

std::vector<u8> DiskTable::find(const CacheKey& key) {
  std::lock_guard lock(state_->mutex);
  Database* db = database();
  if (db == nullptr) return {};
  auto found = db->find(key);
  if (found) return std::move(*found);
  give_up("reading", found.error().message);
  return {};
}

void DiskTable::store(const CacheKey& key, std::span<const u8> value) {
  std::lock_guard lock(state_->mutex);
  Database* db = database();
  if (db == nullptr) return;
  if (auto stored = db->store(key, value); !stored) give_up("writing", stored.error().message);
}

void DiskTable::remove(const CacheKey& key) {
  std::lock_guard lock(state_->mutex);
  Database* db = database();
  if (db == nullptr) return;
  if (auto removed = db->remove(key); !removed) give_up("removing", removed.error().message);
}

std::vector<std::pair<CacheKey, std::vector<u8>>> DiskTable::all() {
  std::lock_guard lock(state_->mutex);
  Database* db = database();
  if (db == nullptr) return {};
  auto entries = db->all();
  if (entries) return std::move(*entries);
  give_up("reading", entries.error().message);
  return {};
}

bool DiskTable::usable() {
  std::lock_guard lock(state_->mutex);
  return database() != nullptr;
}

}  // namespace doorbell::codegen
