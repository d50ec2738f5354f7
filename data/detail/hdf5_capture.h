#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace adj::hdf5 {

/// Memory that a child shares with its parent.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Calls `fill` with `bytes` of new, zeroed memory and returns where it starts, a multiple of 64. Throws
  /// DataError where there is not so much.
  size_t append(size_t bytes, const std::function<void(void*)>& fill);
  /// All of it, read-only, mapped until this object goes.
  std::span<const std::byte> map();

 private:
  int descriptor_ = -1;
  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
};

/// What to read: a file, or an image in memory where `path` is empty.
struct Source {
  std::string path;
  std::span<const std::byte> image;
  size_t bytes = 0;  ///< of the file or image
};

/// Reads the accepted objects with the HDF5 library: datasets go to `memory`, the rest is returned, as a
/// Directory is encoded. Throws DataError "PLACE: message", without the file.
std::string capture(const Source& source, const std::function<bool(std::string_view)>& accept,
                    SharedMemory& memory);

/// capture() in a forked child under limits of time and memory. Throws DataError.
std::string capture_isolated(const Source& source, const std::function<bool(std::string_view)>& accept,
                             SharedMemory& memory);

/// Allows the calling child to hold `bytes` more and to work on them; does nothing elsewhere.
void raise_limits(size_t bytes);

/// `text` with all but printable characters replaced, and not too long for a message.
std::string printable(std::string_view text);

/// Values one after another in a string: what passes from child to parent.
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

}  // namespace adj::hdf5
