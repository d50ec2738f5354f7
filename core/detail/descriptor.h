#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace adj::detail {

/// Owning file descriptor; closed by the destructor.
class Descriptor {
 public:
  /// Never takes the number of a closed standard stream, so that output to it cannot end up in the file.
  explicit Descriptor(int value = -1) : Descriptor(value, 3) {}
  /// Moves the descriptor to `lowest` or above and closes the original.
  Descriptor(int value, int lowest);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return value_; }

 private:
  int value_;
};

/// Reads up to `count` bytes at position `offset`. Returns the number of bytes read before the end of the
/// file, or -1 with errno.
int64_t read_all(int descriptor, int64_t offset, char* buffer, size_t count);
/// Returns false, with errno, if not all bytes could be written, including when the file size limit is
/// exceeded: SIGXFSZ, which would end the program, is blocked.
bool write_all(int descriptor, std::string_view bytes);

/// A file in memory with these bytes, which may be executed or loaded, by a number from `lowest`; negative,
/// with errno, if there is no room for it.
Descriptor file_in_memory(const char* name, std::string_view bytes, int lowest = 0);

}  // namespace adj::detail
