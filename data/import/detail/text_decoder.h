#pragma once

#include <adjoint/core/detail/descriptor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace adj {

/// The bytes of a regular file, after gzip decompression (see TextSource).
class TextBytes {
 public:
  /// Reads the file `opened`; `path` is its name in messages.
  TextBytes(const std::string& path, const std::string& opened);
  ~TextBytes();
  TextBytes(const TextBytes&) = delete;
  TextBytes& operator=(const TextBytes&) = delete;

  /// Reads up to `count` bytes of text; 0 only at the end. On an error `why` is set; bytes read before it are
  /// valid.
  size_t read(char* buffer, size_t count, std::string& why);
  /// Bytes of the file read so far.
  int64_t position() const { return position_; }
  /// Bytes of the file.
  int64_t size() const { return size_; }

 private:
  void fill();
  size_t copy_some(char* buffer, size_t count);
  size_t inflate_some(char* buffer, size_t count, std::string& why);
  /// At the end of a gzip member: begins the next one, or skips zero padding. False if there is none.
  bool next_member(std::string& why);

  std::string path_;
  detail::Descriptor file_;
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(size_t{1} << 18);
  size_t next_ = 0, available_ = 0;
  int64_t position_ = 0, size_ = 0;
  bool gzip_ = false, open_ = false;
  bool between_ = false;  // between members: the last one is complete
  bool padded_ = false;
  uint64_t expanded_ = 0;
  z_stream stream_{};
};

/// The text of a file in UTF-8, with LF or CR LF at the ends of lines (see TextInput and TextSource).
class TextDecoder {
 public:
  TextDecoder(const std::string& path, const std::string& opened, const std::string& encoding);
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  /// As TextBytes::read().
  size_t read(char* buffer, size_t count, std::string& why);
  int64_t position() const { return bytes_.position(); }
  int64_t bytes() const { return bytes_.size(); }
  /// As TextSource::found().
  std::string found() const;

 private:
  /// Finds the encoding and the line ends by the beginning of the text.
  void begin();
  /// Appends to text_; false at the end, or with why_.
  bool decode();

  TextBytes bytes_;
  std::string encoding_;       // empty: UTF-8, as it is
  bool by_mark_ = false;       // a byte order mark said so
  void* converter_ = nullptr;  // iconv_t
  std::string raw_;            // not decoded yet
  std::string text_;           // decoded; given out up to next_
  size_t next_ = 0;
  std::string why_;  // the error behind text_
  bool begun_ = false, over_ = false, carriage_returns_ = false;
};

}  // namespace adj
