#pragma once

#include "../data/schema.h"
#include "byte_mutator.h"
#include <adjoint/core/convert.h>

#include <limits>
#include <map>
#include <variant>

namespace adj::fuzz {

/// Contents of a file, for mutations that are valid HDF5: boundary values, other types and shapes, missing,
/// duplicated and swapped datasets.
struct Content : test::SchemaFile {
  Content() = default;
  explicit Content(const H5Reader& file) { take(file, ""); }

  void mutate(Random& random) {
    for (size_t left = 1 + random.below(3); left > 0; --left) {
      if (!attributes.empty() && random.below(3) == 0) {
        change_attribute(random);
      } else if (!datasets.empty()) {
        change_dataset(random);
      }
    }
  }

 private:
  void take(const H5Reader& file, const std::string& group) {
    for (const std::string& name : file.attributes(group)) take_attribute(file, group, name);
    for (const std::string& child : file.children(group)) {
      const std::string path = group.empty() ? child : group + "/" + child;
      if (file.is_group(path)) {
        take(file, path);
        continue;
      }
      datasets[path] = file.tensor(path, {DType::u8, DType::i32, DType::i64, DType::f32, DType::f64});
      for (const std::string& name : file.attributes(path)) take_attribute(file, path, name);
    }
  }

  void take_attribute(const H5Reader& file, const std::string& object, const std::string& name) {
    auto& value = attributes[object.empty() ? name : object + "@" + name];
    try {
      value = file.text(object, name);
      return;
    } catch (const DataError&) {
    }
    try {
      value = file.integer(object, name);
    } catch (const DataError&) {
      value = file.number(object, name);
    }
  }

  static double number(Random& random) {
    using Limits = std::numeric_limits<double>;
    constexpr double kInf = Limits::infinity(), kNaN = Limits::quiet_NaN();
    const double some = static_cast<double>(random.below(1000)), few = static_cast<double>(random.below(10));
    const double values[] = {0.0,   -0.0,         1.0,  -1.0,          2.0,    0.5,  -2.0,  3e9,
                             -3e9,  1e20,         1e39, -1e39,         1e308,  kInf, -kInf, 1e-310,
                             1e-45, 2147483647.0, kNaN, -2147483648.0, 9.2e18, some, few};
    return values[random.below(std::size(values))];
  }

  static std::string text(Random& random, const std::string& before) {
    const std::string values[] = {"",
                                  "0",
                                  "-1",
                                  "1e400",
                                  "nan",
                                  "inf",
                                  "9223372036854775808",
                                  "x",
                                  "none",
                                  before + before,
                                  before.substr(0, before.size() / 2),
                                  std::string(5000, 'a'),
                                  "\x1b[2J\x07\n\r",
                                  "\xff\xfe\xc3",
                                  "node_regression",
                                  "graph_class",
                                  "adjoint.graph",
                                  std::to_string(random.next()),
                                  fmt::format("{}", number(random))};
    return values[random.below(std::size(values))];
  }

  template <class Map>
  static auto pick(Map& map, Random& random) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(random.below(map.size())));
  }

  void change_attribute(Random& random) {
    const auto entry = pick(attributes, random);
    switch (random.below(5)) {
      case 0:
        attributes.erase(entry);
        break;
      case 1:
        entry->second = static_cast<int64_t>(interesting(random, 100));
        break;
      case 2:
        entry->second = number(random);
        break;
      case 3:
        entry->second = pick(attributes, random)->second;
        break;
      default: {
        const auto* words = std::get_if<std::string>(&entry->second);
        entry->second = text(random, words == nullptr ? "" : *words);
      }
    }
  }

  void change_dataset(Random& random) {
    const auto entry = pick(datasets, random);
    Tensor& tensor = entry->second;
    const int64_t n = tensor.numel();
    switch (random.below(8)) {
      case 0:
        datasets.erase(entry);
        break;
      case 1: {
        constexpr DType kTypes[] = {DType::u8, DType::i32, DType::i64, DType::f32, DType::f64};
        tensor = tensor.to(kTypes[random.below(5)]);
        break;
      }
      case 2:  // fewer
        if (tensor.dims() > 0 && tensor.size(0) > 0)
          tensor =
              tensor.rows(0, static_cast<int64_t>(random.below(static_cast<size_t>(tensor.size(0))))).clone();
        break;
      case 3:
        if (tensor.dims() > 0) tensor = random.below(2) == 0 ? tensor.reshape({n}) : tensor.reshape({n, 1});
        break;
      case 4:
        tensor = pick(datasets, random)->second;
        break;
      default:
        if (n > 0)
          for (size_t left = 1 + random.below(3); left > 0; --left)
            poke(tensor, static_cast<int64_t>(random.below(static_cast<size_t>(n))), random);
    }
  }

  static void poke(Tensor& tensor, int64_t index, Random& random) {
    tensor = tensor.clone();  // may be shared with another dataset
    const size_t size = tensor.dtype() == DType::u8 ? 10 : static_cast<size_t>(tensor.numel());
    dispatch_all(tensor.dtype(), [&]<class T>() {
      if constexpr (std::is_integral_v<T>)
        tensor.mutable_data<T>()[index] = static_cast<T>(interesting(random, size));
      else
        tensor.mutable_data<T>()[index] = static_cast<T>(number(random));
    });
  }
};

}  // namespace adj::fuzz
