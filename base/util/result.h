// Result<T>: a value, or the Error that input or the system caused. Names follow std::expected,
// which C++20 lacks. For bugs of this library use CHECK (base/util/check.h).
//
//   Result<u32> read_count(std::span<const u8> bytes) {
//     if (bytes.size() < 4)
//       return fail(ErrorKind::Corrupt, "header is {} bytes, expected 4", bytes.size());
//     TRY(Reader reader, open_reader(bytes));  // base/util/try.h
//     return reader.count();
//   }
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/util/check_failed.h"
#include "base/util/error.h"

namespace doorbell {

// The Error lives on the heap: failure is rare, and a Result<void> is then one pointer.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_base_of_v<Error, std::remove_cvref_t<U>>)
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is what a Result is for.
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return fail(...)`, as above.
  Result(Error error) : state_(std::in_place_index<1>, std::make_unique<Error>(std::move(error))) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Taking the value of a failed Result is a bug; the message includes the Result's error.
  T& value() & {
    require();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    require();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    require();
    return std::move(*std::get_if<0>(&state_));
  }
  template <class U>
  T value_or(U&& otherwise) && {
    return has_value() ? std::move(*std::get_if<0>(&state_)) : T(std::forward<U>(otherwise));
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & {
    DOORBELL_CHECK(!has_value(), "asked a success for its error");
    return **std::get_if<1>(&state_);
  }
  const Error& error() const& {
    DOORBELL_CHECK(!has_value(), "asked a success for its error");
    return **std::get_if<1>(&state_);
  }
  Error&& error() && { return std::move(error()); }

 private:
  void require() const {
    if (!has_value()) [[unlikely]]
      detail::no_value(**std::get_if<1>(&state_));
  }

  std::variant<T, std::unique_ptr<Error>> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return fail(...)`.
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  bool has_value() const { return error_ == nullptr; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) [[unlikely]]
      detail::no_value(*error_);
  }
  void operator*() const { value(); }
  Error& error() & {
    DOORBELL_CHECK(!has_value(), "asked a success for its error");
    return *error_;
  }
  const Error& error() const& {
    DOORBELL_CHECK(!has_value(), "asked a success for its error");
    return *error_;
  }
  Error&& error() && { return std::move(error()); }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace doorbell
