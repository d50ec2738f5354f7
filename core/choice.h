#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Enums with names, for options, files and messages. A function beside the enum lists them, in the order of
// its values, which begin with 0:
//
//   enum class Decoder : uint8_t { dot, mlp };
//   constexpr auto names_of(Decoder) { return std::array{"dot", "mlp"}; }

namespace adj {

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  names_of(E{});
};

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return names_of(value)[static_cast<size_t>(value)];
}
/// All values.
template <NamedEnum E>
std::vector<E> values_of() {
  std::vector<E> all;
  for (size_t k = 0; k < names_of(E{}).size(); ++k) all.push_back(static_cast<E>(k));
  return all;
}
/// The value of that name; absent if there is none.
template <NamedEnum E>
std::optional<E> value_named(std::string_view name) {
  for (const E value : values_of<E>())
    if (name == name_of(value)) return value;
  return {};
}

/// A variable of an enum type with the names of the values that an option offers. The variable must outlive
/// it.
class Choice {
 public:
  /// Offers all values.
  template <NamedEnum E>
  Choice(E* variable) : Choice(variable, values_of<E>()) {}
  template <class E>
  Choice(E* variable, const std::vector<E>& offered)
      : variable_(variable),
        name_([](const void* pointer) { return std::string(name_of(*static_cast<const E*>(pointer))); }),
        set_([](void* pointer, int value) { *static_cast<E*>(pointer) = static_cast<E>(value); }) {
    for (const E value : offered) offered_.emplace_back(static_cast<int>(value), name_of(value));
  }
  template <class E>
  Choice(E* variable, std::initializer_list<E> offered) : Choice(variable, std::vector<E>(offered)) {}
  /// Offers all values, and "auto" for an absent one.
  template <NamedEnum E>
  Choice(std::optional<E>* variable)
      : variable_(variable),
        name_([](const void* pointer) {
          const auto& value = *static_cast<const std::optional<E>*>(pointer);
          return std::string(value ? name_of(*value) : kAutomatic);
        }),
        set_([](void* pointer, int value) {
          *static_cast<std::optional<E>*>(pointer) =
              value == kAbsent ? std::nullopt : std::optional(static_cast<E>(value));
        }) {
    offered_.emplace_back(kAbsent, kAutomatic);
    for (const E value : values_of<E>()) offered_.emplace_back(static_cast<int>(value), name_of(value));
  }

  /// The value's name.
  std::string text() const { return name_(variable_); }
  bool offers(const std::string& name) const;
  /// Sets the variable. Throws UsageError naming `option` unless `text` is an offered name.
  void set(const std::string& option, const std::string& text) const;

 private:
  static constexpr int kAbsent = -1;
  static constexpr std::string_view kAutomatic = "auto";

  void* variable_;
  std::string (*name_)(const void* variable);
  void (*set_)(void* variable, int value);
  std::vector<std::pair<int, std::string>> offered_;
};

}  // namespace adj
