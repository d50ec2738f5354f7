#pragma once

#include <adjoint/core/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct zip;
struct zip_file;

namespace adj {

/// A zip archive of .npy files, of which nothing is read before it is asked for. All errors are DataErrors of
/// one line naming the file and, where there is one, the array (its name is without ".npy").
class NpzArchive {
 public:
  struct Entry {
    uint64_t index = 0;
    uint64_t bytes = 0;   ///< unpacked, as the directory says
    uint64_t packed = 0;  ///< as they lie in the file
    uint16_t method = 0;
    bool encrypted = false;
  };

  /// The bytes of an entry, one after the other.
  class Stream {
   public:
    /// Fewer bytes than asked for at the end alone, where the CRC is checked too.
    size_t read(void* to, size_t bytes);

   private:
    friend class NpzArchive;
    struct Close {
      void operator()(zip_file* file) const;
    };
    const NpzArchive* archive_ = nullptr;
    std::string array_;
    std::unique_ptr<zip_file, Close> file_;
  };

  static NpzArchive open(const std::string& path);
  /// From memory, which must outlive the archive; `name` stands for the path in messages.
  static NpzArchive from_image(std::span<const std::byte> image, const std::string& name);

  const std::string& file() const { return name_; }
  uint64_t file_bytes() const { return bytes_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  /// At an entry's first byte, once the directory's word about it can be true: plain, stored or deflated, no
  /// longer than the file, and no zip bomb's by more than deflation can do.
  Stream stream(const std::string& array) const;
  [[noreturn]] void fail(std::string_view array, const std::string& message) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  [[noreturn]] void fail_to_open(std::string_view head, int code) const;
  void list();

  std::string name_;
  uint64_t bytes_ = 0;
  std::unique_ptr<zip, Discard> zip_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace adj
