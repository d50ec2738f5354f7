#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace adj::detail {

/// A file descriptor, closed at the end.
class Descriptor {
 public:
  /// Not in the place of a standard stream that is closed: what is printed would go into the file.
  explicit Descriptor(int value = -1) : Descriptor(value, 3) {}
  /// Moved to `lowest` or above; what stands below is closed.
  Descriptor(int value, int lowest);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return value_; }

 private:
  int value_;
};

/// Reads up to `count` bytes from position `at`: how many there were before the file's end, or -1 with errno.
int64_t read_all(int descriptor, int64_t at, char* to, size_t count);
/// False, with errno, where not all could be written. Beyond the limit on file sizes that is so too: the
/// signal for it, which would end the program, is held back.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace adj::detail
