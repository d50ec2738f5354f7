#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Protocol between the reader of a file and the child that runs HDF5. A request is its length and text; an
// answer is '+' (done) or '-' (error), its length and its text.

namespace adj::hdf5 {

constexpr int kRequests = 0, kFile = 3;  // file descriptors of the child

/// Encoded names of objects and attributes -> the directory of those that exist: per object its path, why it
/// cannot be read (or ""), whether it is a group, its attributes, and for a dataset the fields of `Stored`.
constexpr char kList = 'L';
/// Position of a dataset in the directory, first row, number of rows -> its values, in row order.
constexpr char kRead = 'R';

/// Offset of datasets whose file layout differs from the memory layout.
constexpr uint64_t kNowhere = ~uint64_t{0};

/// Appends values to a string.
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

/// Throws DataError if fewer bytes are left than requested.
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

/// Transfers all bytes over a socket, despite interruptions; false if the peer is gone.
bool send_all(int socket, const void* bytes, size_t count);
bool receive_all(int socket, void* bytes, size_t count);

}  // namespace adj::hdf5
