// The two formats, and tensors from the calls that rebuild them
// (torch/_utils.py and torch/serialization.py of PyTorch 2.9).
#include "tensor/io/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include <absl/container/flat_hash_set.h>

#include "base/util/try.h"
#include "tensor/io/archive.h"
#include "tensor/io/pickle.h"

namespace doorbell::io {

namespace {

namespace dtypes = core::dtypes;
using Kind = PickleValue::Kind;

struct NamedDType {
  std::string_view name;
  core::DType dtype;
};

// Storages say what their elements are; so do dtypes beside an untyped one.
constexpr std::array kStorages = {
    NamedDType{"torch.FloatStorage", dtypes::f32},
    NamedDType{"torch.DoubleStorage", dtypes::f64},
    NamedDType{"torch.HalfStorage", dtypes::f16},
    NamedDType{"torch.BFloat16Storage", dtypes::bf16},
    NamedDType{"torch.LongStorage", dtypes::i64},
    NamedDType{"torch.IntStorage", dtypes::i32},
    NamedDType{"torch.ShortStorage", dtypes::i16},
    NamedDType{"torch.CharStorage", dtypes::i8},
    NamedDType{"torch.ByteStorage", dtypes::u8},
    NamedDType{"torch.BoolStorage", dtypes::bool_},
    NamedDType{"torch.storage.UntypedStorage", dtypes::u8},
};
constexpr std::array kDTypes = {
    NamedDType{"torch.uint16", dtypes::u16},
    NamedDType{"torch.uint32", dtypes::u32},
    NamedDType{"torch.uint64", dtypes::u64},
    NamedDType{"torch.float8_e4m3fn", dtypes::f8e4m3},
    NamedDType{"torch.float8_e5m2", dtypes::f8e5m2},
};
constexpr std::string_view kRebuild = "torch._utils._rebuild_tensor";
constexpr std::string_view kRebuild2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuild3 = "torch._utils._rebuild_tensor_v3";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";

std::vector<std::string_view> allowed_names() {
  std::vector<std::string_view> names = {kRebuild,   kRebuild2,    kRebuild3,
                                         kParameter, "torch.Size", "collections.OrderedDict"};
  for (const NamedDType& storage : kStorages) names.push_back(storage.name);
  for (const NamedDType& dtype : kDTypes) names.push_back(dtype.name);
  return names;
}

Error corrupt(std::string_view what, const std::string& name) {
  return fail(ErrorKind::Corrupt, "tensor {}: {}", name, what);
}

constexpr usize kMaxAxes = 64, kMaxDepth = 64;
// A tensor whose strides repeat elements may be larger than the file, by this many bytes.
constexpr u64 kMaxRepeated = u64{1} << 24;

struct Storage {
  core::DType dtype;
  std::string key;
};

// The tensors of one pickle.
class Tensors {
 public:
  Tensors(const Pickle& pickle, const std::map<std::string, std::span<const u8>>& storages,
          u64 file_bytes)
      : pickle_(pickle), storages_(storages), room_(16 * file_bytes + kMaxRepeated) {}

  Result<std::vector<TorchEntry>> all();
  Result<TorchValue> whole() { return value_of(pickle_.root, "", 0); }

 private:
  Result<TorchValue> value_of(u32 number, const std::string& name, usize depth);
  Result<void> take_items(const PickleValue& from, const std::string& name, usize depth,
                          TorchValue& into);
  Result<TorchEntry> rebuilt(const PickleValue& call, const std::string& name);
  Result<Storage> storage_of(u32 number, const std::string& name);
  Result<std::vector<i64>> integers(u32 number, const std::string& name);
  Result<void> copy_elements(std::span<const u8> storage, i64 offset,
                             const std::vector<i64>& strides, TorchEntry& entry);

  const Pickle& pickle_;
  const std::map<std::string, std::span<const u8>>& storages_;
  u64 room_;  // bytes that tensors may still take
  // Values that may still be made: what stands in several places is made for each.
  u64 values_left_ = 16 * u64{pickle_.values.size()} + 1024;
};

Result<std::vector<i64>> Tensors::integers(u32 number, const std::string& name) {
  const PickleValue* value = &pickle_[number];
  if (value->kind == Kind::Call && pickle_[value->items[0]].text == "torch.Size") {
    const PickleValue& arguments = pickle_[value->items[1]];
    if (arguments.items.size() != 1) return corrupt("a size of other than one argument", name);
    value = &pickle_[arguments.items[0]];
  }
  if (value->kind != Kind::Tuple || value->items.size() > kMaxAxes)
    return corrupt("sizes or strides that are no tuple", name);
  std::vector<i64> result;
  for (u32 item : value->items) {
    const PickleValue& size = pickle_[item];
    if (size.kind != Kind::Int || size.integer < 0)
      return corrupt("a size or stride that is no whole number", name);
    result.push_back(size.integer);
  }
  return result;
}

// ('storage', type, key, place, number of elements[, view]).
Result<Storage> Tensors::storage_of(u32 number, const std::string& name) {
  const PickleValue& value = pickle_[number];
  const PickleValue* parts = value.kind == Kind::Persistent ? &pickle_[value.items[0]] : nullptr;
  if (parts == nullptr || parts->kind != Kind::Tuple || parts->items.size() < 5 ||
      pickle_[parts->items[0]].text != "storage" || pickle_[parts->items[1]].kind != Kind::Global ||
      pickle_[parts->items[2]].kind != Kind::String)
    return corrupt("no storage", name);
  const std::string& type = pickle_[parts->items[1]].text;
  for (const NamedDType& storage : kStorages) {
    if (storage.name == type) return Storage{storage.dtype, pickle_[parts->items[2]].text};
  }
  return corrupt("a storage of no known type", name);
}

Result<void> Tensors::copy_elements(std::span<const u8> storage, i64 offset,
                                    const std::vector<i64>& strides, TorchEntry& entry) {
  const u64 width = static_cast<u64>(entry.dtype.bytes());
  u64 count = 1, last = static_cast<u64>(offset);
  bool overflows = false;
  for (usize i = 0; i < entry.shape.size(); ++i) {
    const u64 size = static_cast<u64>(entry.shape[i]);
    overflows |= __builtin_mul_overflow(count, size, &count);
    u64 reach = 0;
    overflows |=
        size != 0 && __builtin_mul_overflow(size - 1, static_cast<u64>(strides[i]), &reach);
    overflows |= __builtin_add_overflow(last, reach, &last);
  }
  u64 bytes = 0;
  overflows |= __builtin_mul_overflow(count, width, &bytes);
  if (std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end()) return {};
  if (overflows || last >= storage.size() / width)
    return fail(ErrorKind::Corrupt, "tensor {} reaches beyond the {} bytes of its storage",
                entry.name, storage.size());
  if (bytes > room_)
    return fail(ErrorKind::Unsupported,
                "tensor {} takes {} bytes, with {} left for what the file repeats", entry.name,
                bytes, room_);
  room_ -= bytes;
  entry.bytes.resize(bytes);
  std::vector<i64> place(entry.shape.size(), 0);
  u64 from = static_cast<u64>(offset);
  for (u64 i = 0; i < count; ++i) {
    std::memcpy(entry.bytes.data() + i * width, storage.data() + from * width, width);
    for (usize axis = place.size(); axis-- > 0;) {
      from += static_cast<u64>(strides[axis]);
      if (++place[axis] < entry.shape[axis]) break;
      from -= static_cast<u64>(strides[axis]) * static_cast<u64>(entry.shape[axis]);
      place[axis] = 0;
    }
  }
  return {};
}

// (storage, offset, sizes, strides, ...), and in the third form after two more the dtype.
Result<TorchEntry> Tensors::rebuilt(const PickleValue& call, const std::string& name) {
  const std::string& function = pickle_[call.items[0]].text;
  const std::vector<u32>* arguments = &pickle_[call.items[1]].items;
  if (function == kParameter) {
    const PickleValue* inner = arguments->empty() ? nullptr : &pickle_[(*arguments)[0]];
    if (inner == nullptr || inner->kind != Kind::Call ||
        pickle_[inner->items[0]].text == kParameter)
      return corrupt("a parameter of no tensor", name);
    return rebuilt(*inner, name);  // once: the inner one is no parameter
  }
  const bool third = function == kRebuild3;
  if ((function != kRebuild && function != kRebuild2 && !third) ||
      arguments->size() < (third ? 7u : 4u))
    return corrupt("not rebuilt as a tensor", name);
  TorchEntry entry{.name = name};
  TRY(const Storage storage, storage_of((*arguments)[0], name));
  entry.dtype = storage.dtype;
  if (third) {
    const std::string& wanted = pickle_[(*arguments)[6]].text;
    const auto found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                    [&](const NamedDType& dtype) { return dtype.name == wanted; });
    if (found == kDTypes.end()) return corrupt("no known dtype", name);
    entry.dtype = found->dtype;
  }
  const PickleValue& offset = pickle_[(*arguments)[1]];
  TRY(entry.shape, integers((*arguments)[2], name));
  TRY(const std::vector<i64> strides, integers((*arguments)[3], name));
  const auto bytes = storages_.find(storage.key);
  if (offset.kind != Kind::Int || offset.integer < 0 || strides.size() != entry.shape.size() ||
      bytes == storages_.end())
    return corrupt("no such place or storage", name);
  TRY(copy_elements(bytes->second, offset.integer, strides, entry));
  return entry;
}

std::string key_text(const PickleValue& key) {
  return key.kind == Kind::String ? key.text : std::to_string(key.integer);
}

Result<std::vector<TorchEntry>> Tensors::all() {
  struct Item {
    u32 number;
    std::string name;
    usize depth;
  };
  std::vector<TorchEntry> entries;
  std::vector<Item> open{{pickle_.root, "", 0}};
  absl::flat_hash_set<u32> seen;  // containers: one that stands twice is walked once
  while (!open.empty()) {
    const Item item = std::move(open.back());
    open.pop_back();
    const PickleValue& value = pickle_[item.number];
    if (value.kind == Kind::Call && pickle_[value.items[0]].text != "torch.Size") {
      TRY(TorchEntry entry, rebuilt(value, item.name));
      entries.push_back(std::move(entry));
    }
    const bool is_dict = value.kind == Kind::Dict;
    if (!is_dict && value.kind != Kind::List && value.kind != Kind::Tuple) continue;
    if (!seen.insert(item.number).second) continue;
    if (item.depth == kMaxDepth)
      return fail(ErrorKind::Unsupported, "values in more than {} containers", kMaxDepth);
    const usize step = is_dict ? 2 : 1;
    for (usize i = value.items.size(); i >= step; i -= step) {  // backwards: the stack turns them
      const std::string key =
          is_dict ? key_text(pickle_[value.items[i - 2]]) : std::to_string(i - 1);
      open.push_back(
          {value.items[i - 1], item.name.empty() ? key : item.name + "." + key, item.depth + 1});
    }
  }
  return entries;
}

// At most kMaxDepth deep, so this recurses.
Result<TorchValue> Tensors::value_of(u32 number, const std::string& name, usize depth) {
  using Made = TorchValue::Kind;
  const PickleValue& value = pickle_[number];
  if (depth > kMaxDepth)
    return fail(ErrorKind::Unsupported, "values in more than {} containers", kMaxDepth);
  if (values_left_-- == 0)
    return fail(ErrorKind::Unsupported, "values that stand in too many places");
  TorchValue made{.integer = value.integer, .real = value.real};
  switch (value.kind) {
    case Kind::Bool: made.kind = Made::Bool; return made;
    case Kind::Int: made.kind = Made::Int; return made;
    case Kind::Float: made.kind = Made::Float; return made;
    case Kind::String: made.kind = Made::Text; break;
    case Kind::List: made.kind = Made::List; break;
    case Kind::Tuple: made.kind = Made::Tuple; break;
    case Kind::Dict: made.kind = Made::Dict; break;
    case Kind::Call: break;
    default: return made;  // None, and names of dtypes
  }
  if (value.kind == Kind::String) {
    made.text = value.text;
  } else if (value.kind != Kind::Call) {
    TRY(take_items(value, name, depth, made));
  } else if (pickle_[value.items[0]].text == "torch.Size") {
    TRY(const std::vector<i64> sizes, integers(number, name));
    made.kind = Made::Tuple;
    for (const i64 size : sizes) made.items.push_back({.kind = Made::Int, .integer = size});
  } else {
    made.kind = Made::Tensor;
    TRY(made.tensor, rebuilt(value, name));
  }
  return made;
}

Result<void> Tensors::take_items(const PickleValue& from, const std::string& name, usize depth,
                                 TorchValue& into) {
  for (usize i = 0; i < from.items.size(); ++i) {
    const bool is_dict = from.kind == Kind::Dict;
    const std::string key = is_dict ? key_text(pickle_[from.items[i - i % 2]]) : std::to_string(i);
    TRY(TorchValue item, value_of(from.items[i], name.empty() ? key : name + "." + key, depth + 1));
    into.items.push_back(std::move(item));
  }
  return {};
}

// archive/data.pkl, archive/data/KEY, archive/byteorder, under one folder of any name.
// `read` is given the Tensors.
template <class Read>
auto parse_zip(std::span<const u8> file, Read read) -> decltype(read(std::declval<Tensors&>())) {
  constexpr usize kMaxBytes = usize{1} << 40;
  TRY(const std::vector<ArchiveEntry> entries,
      read_archive(file, ArchiveFormat::Zip, std::min(kMaxBytes, 1024 * file.size())));
  std::map<std::string, std::span<const u8>> storages;
  const ArchiveEntry* pickle_entry = nullptr;
  for (const ArchiveEntry& entry : entries) {
    const usize slash = entry.name.find('/');
    const std::string inner =
        slash == std::string::npos ? entry.name : entry.name.substr(slash + 1);
    if (inner == "data.pkl") pickle_entry = &entry;
    if (inner.starts_with("data/")) storages[inner.substr(5)] = entry.bytes;
    if (inner == "byteorder" && std::string(entry.bytes.begin(), entry.bytes.end()) != "little")
      return fail(ErrorKind::Unsupported, "the file is of a machine that is not little-endian");
    if (inner == "constants.pkl")
      return fail(ErrorKind::Unsupported, "the file is a TorchScript program, expected tensors");
  }
  if (pickle_entry == nullptr)
    return fail(ErrorKind::Corrupt,
                "a zip archive without data.pkl, expected what torch.save wrote");
  const std::vector<std::string_view> allowed = allowed_names();
  TRY(const Pickle pickle, parse_pickle(pickle_entry->bytes, allowed));
  Tensors tensors(pickle, storages, file.size());
  return read(tensors);
}

constexpr i64 kLegacyVersion = 1001;

// Where the storages of the plain format lie: each after its number of elements, from byte `at`.
// How wide the elements are stands with the tensors that use a storage.
Result<std::map<std::string, std::span<const u8>>> legacy_storages(std::span<const u8> file,
                                                                   usize at, const Pickle& object,
                                                                   const Pickle& keys) {
  std::map<std::string, u64> widths;
  for (const PickleValue& value : object.values) {
    if (value.kind != Kind::Persistent) continue;
    const std::vector<u32>& parts = object[value.items[0]].items;
    if (parts.size() < 5) continue;
    for (const NamedDType& storage : kStorages) {
      if (storage.name == object[parts[1]].text)
        widths[object[parts[2]].text] = static_cast<u64>(storage.dtype.bytes());
    }
  }
  std::map<std::string, std::span<const u8>> storages;
  for (u32 key : keys[keys.root].items) {
    const std::string& name = keys[key].text;
    u64 count = 0, bytes = 0;
    if (file.size() - at < sizeof count)
      return fail(ErrorKind::Corrupt, "the file ends at byte {}, within storages", file.size());
    std::memcpy(&count, file.data() + at, sizeof count);
    at += sizeof count;
    if (__builtin_mul_overflow(count, widths.contains(name) ? widths[name] : 1, &bytes) ||
        bytes > file.size() - at)
      return fail(ErrorKind::Corrupt, "a storage of {} elements at byte {} of {}", count, at,
                  file.size());
    storages[name] = file.subspan(at, bytes);
    at += bytes;
  }
  return storages;
}

// Pickles one after the other: a magic number, the version, what the machine was, the object, the
// keys of the storages; then the storages.
template <class Read>
auto parse_legacy(std::span<const u8> file, Read read) -> decltype(read(std::declval<Tensors&>())) {
  const std::vector<std::string_view> allowed = allowed_names();
  std::vector<Pickle> pickles;
  usize at = 0;
  for (int i = 0; i < 5; ++i) {
    // The magic number has more than 64 bits; its pickle is known by its bytes.
    static constexpr u8 kMagic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                    0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
    if (i == 0) {
      if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
        return fail(ErrorKind::Corrupt, "neither a zip archive nor the magic number of torch.save");
      at = sizeof kMagic;
      continue;
    }
    TRY(Pickle pickle, parse_pickle(file.subspan(at), allowed));
    at += pickle.bytes;
    pickles.push_back(std::move(pickle));
  }
  const PickleValue &version = pickles[0][pickles[0].root], &keys = pickles[3][pickles[3].root];
  const PickleValue& machine = pickles[1][pickles[1].root];
  for (usize i = 0; i + 1 < machine.items.size() && machine.kind == Kind::Dict; i += 2) {
    if (pickles[1][machine.items[i]].text == "little_endian" &&
        pickles[1][machine.items[i + 1]].integer == 0)
      return fail(ErrorKind::Unsupported, "the file is of a machine that is not little-endian");
  }
  if (version.kind != Kind::Int || version.integer != kLegacyVersion || keys.kind != Kind::List)
    return fail(ErrorKind::Unsupported, "version {} of torch.save's format, expected {}",
                version.integer, kLegacyVersion);
  TRY(const auto storages, legacy_storages(file, at, pickles[2], pickles[3]));
  Tensors tensors(pickles[2], storages, file.size());
  return read(tensors);
}

template <class Read>
auto parse_any(std::span<const u8> file, Read read) {
  const bool is_zip = file.size() >= 4 && file[0] == 'P' && file[1] == 'K';
  return is_zip ? parse_zip(file, read) : parse_legacy(file, read);
}

}  // namespace

Result<std::vector<TorchEntry>> parse_torch(std::span<const u8> file) {
  return parse_any(file, [](Tensors& tensors) { return tensors.all(); });
}

Result<TorchValue> parse_torch_value(std::span<const u8> file) {
  return parse_any(file, [](Tensors& tensors) { return tensors.whole(); });
}

const TorchValue* TorchValue::find(std::string_view key) const {
  if (kind != Kind::Dict) return nullptr;
  for (usize i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::Text && items[i].text == key) return &items[i + 1];
  return nullptr;
}

}  // namespace doorbell::io
