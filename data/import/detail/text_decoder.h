#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace adj {

class TextBytes;

/// The text of a file in UTF-8, with LF or CR LF at the ends of lines (see TextInput and TextSource).
class TextDecoder {
 public:
  TextDecoder(const std::string& path, const std::string& opened, const std::string& encoding);
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  /// Reads up to `count` bytes of text; 0 only at the end. On an error `why` is set; bytes read before it are
  /// valid.
  size_t read(char* buffer, size_t count, std::string& why);
  int64_t position() const;  ///< bytes of the file read so far
  int64_t bytes() const;     ///< of the file
  /// As TextSource::found().
  std::string found() const;

 private:
  /// Finds the encoding and the line ends by the beginning of the text.
  void begin();
  /// Appends to text_; false at the end, or with why_.
  bool decode();

  std::unique_ptr<TextBytes> bytes_;
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
