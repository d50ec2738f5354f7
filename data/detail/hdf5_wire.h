#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What the reader of a file and the process that runs HDF5's library for it say to each other. A request is
// its length and its text, an answer '+' (done) or '-' (an error's text), its length and its text.

namespace adj::hdf5 {

constexpr int kRequests = 0, kFile = 3;  // descriptors of that process

/// Names of objects and attributes, encoded -> the directory of those that exist: for each object its path,
/// what hinders reading it (or ""), whether it is a group, its attributes, and of a dataset the facts in
/// `Stored`.
constexpr char kList = 'L';
/// Position of a dataset in the directory, first row, rows -> its values, in row order.
constexpr char kRead = 'R';

/// Where a dataset's values lie, if they lie in the file as they do in memory.
constexpr uint64_t kNowhere = ~uint64_t{0};

/// Values one after another in a string.
class Encoder {
 public:
  template <class T>
  void put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_text(std::string_view value) {
    put<uint64_t>(value.size());
    text_.append(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Throws DataError where there is less than is asked for.
class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  template <class T>
  T get() {
    T value{};
    const std::string_view raw = cut(sizeof(T));
    raw.copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  std::string get_text() { return std::string(cut(get<uint64_t>())); }

 private:
  std::string_view cut(size_t bytes);

  std::string_view text_;
};

/// All bytes through a socket, however often it is interrupted; false where the other side is gone.
bool send_all(int socket, const void* bytes, size_t count);
bool receive_all(int socket, void* bytes, size_t count);

}  // namespace adj::hdf5
