#pragma once

#include <adjoint/data/hdf5_file.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Protocol between the reader of a file and the child that runs HDF5. A request is its length and text; an
// answer is '+' (done) or '-' (error), its length and its text.

namespace adj::hdf5 {

constexpr int kRequests = 0, kFile = 3;  // file descriptors of the child

/// Names of objects and attributes -> the directory of the existing ones: path and `Stored`.
constexpr char kList = 'L';
/// Position of a dataset in the directory, first row, number of rows -> its values, in row order.
constexpr char kRead = 'R';

/// Offset of datasets whose file layout differs from the memory layout.
constexpr uint64_t kNowhere = ~uint64_t{0};

/// An object of the file, or a group on the path to one.
struct Stored {
  std::string problem;  ///< why its values cannot be read, else ""
  bool group = false;
  std::map<std::string, H5Value, std::less<>> attributes;
  // For datasets:
  std::string type = "unknown";  ///< as named in messages
  bool readable = false;         ///< as numbers of `dtype`
  DType dtype = DType::u8;
  uint64_t offset = kNowhere;  ///< of its values in the file if the layout is that of memory
  int64_t band = 1;            ///< rows stored, and decompressed, together
  std::vector<int64_t> shape;
};
/// Calls f for each member, in the order of transfer.
template <class Object, class F>
void for_members(Object& object, F&& f) {
  f(object.problem), f(object.group), f(object.attributes), f(object.type), f(object.readable),
      f(object.dtype), f(object.offset);
  f(object.band), f(object.shape);
}

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends values to a string.
class Encoder {
 public:
  template <class... T>
  void put(const T&... values) {
    (add(values), ...);
  }
  std::string take() { return std::move(text_); }

 private:
  void add(const Plain auto& value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(std::monostate) {}
  void add(const std::string& text) {
    add(uint64_t{text.size()});
    text_ += text;
  }
  void add(const H5Value& value) {
    add(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto& one) { add(one); }, value);
  }
  void add(const Stored& object) {
    for_members(object, [this](const auto& member) { add(member); });
  }
  template <class Key, class Value>
  void add(const std::pair<Key, Value>& item) {
    put(item.first, item.second);
  }
  /// A vector or a map.
  void add(const auto& items) {
    add(uint64_t{items.size()});
    for (const auto& item : items) add(item);
  }

  std::string text_;
};

/// Throws DataError if fewer bytes are left than requested.
class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  template <class T>
  T get() {
    T value{};
    take(value);
    return value;
  }

 private:
  std::string_view cut(size_t bytes);
  void take(Plain auto& value) { cut(sizeof value).copy(reinterpret_cast<char*>(&value), sizeof value); }
  void take(bool& value) { value = get<uint8_t>() != 0; }
  void take(DType& value) {
    const auto code = get<uint8_t>();
    if (code > static_cast<uint8_t>(DType::bits)) throw DataError("damaged: unknown dtype");
    value = static_cast<DType>(code);
  }
  void take(std::string& text) { text = cut(get<uint64_t>()); }
  void take(H5Value& value) {
    const auto kind = get<uint8_t>();
    if (kind == 1) value = get<int64_t>();
    if (kind == 2) value = get<double>();
    if (kind == 3) value = get<std::string>();
  }
  void take(Stored& object) {
    for_members(object, [this](auto& member) { take(member); });
  }
  template <class T>
  void take(std::vector<T>& items) {
    for (auto left = get<uint64_t>(); left > 0; --left) items.push_back(get<T>());
  }
  template <class Value, class Less>
  void take(std::map<std::string, Value, Less>& items) {
    for (auto left = get<uint64_t>(); left > 0; --left) take(items[get<std::string>()]);
  }

  std::string_view text_;
};

/// Transfers all bytes over a socket, despite interruptions; false if the peer is gone.
bool send_all(int socket, const void* bytes, size_t count);
bool receive_all(int socket, void* bytes, size_t count);

}  // namespace adj::hdf5
