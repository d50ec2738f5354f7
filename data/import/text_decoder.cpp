#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/text_decoder.h>
#include <adjoint/data/import/text_source.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <iconv.h>

namespace adj {

namespace {

constexpr size_t kBeginning = size_t{1} << 18;  // bytes that decide
constexpr size_t kPiece = size_t{1} << 16;      // decoded at once

/// Byte order marks; the longer first.
struct Mark {
  std::string_view bytes, encoding;
};
constexpr Mark kMarks[] = {{"\xef\xbb\xbf", ""},
                           {std::string_view("\xff\xfe\0\0", 4), "UTF-32LE"},
                           {std::string_view("\0\0\xfe\xff", 4), "UTF-32BE"},
                           {"\xff\xfe", "UTF-16LE"},
                           {"\xfe\xff", "UTF-16BE"}};

/// A suffix as //IGNORE would drop characters.
iconv_t opened_converter(const std::string& encoding) {
  return encoding.find('/') == std::string::npos ? ::iconv_open("UTF-8", encoding.c_str())
                                                 : reinterpret_cast<iconv_t>(-1);
}
bool is_open(iconv_t converter) { return converter != reinterpret_cast<iconv_t>(-1); }

}  // namespace

bool is_encoding(const std::string& name) {
  const iconv_t converter = opened_converter(name);
  if (is_open(converter)) ::iconv_close(converter);
  return !name.empty() && is_open(converter);
}

TextDecoder::TextDecoder(const std::string& path, const std::string& opened, const std::string& encoding)
    : bytes_(path, opened), encoding_(encoding) {}

TextDecoder::~TextDecoder() {
  if (converter_ != nullptr) ::iconv_close(converter_);
}

std::string TextDecoder::found() const {
  return (by_mark_ && !encoding_.empty() ? fmt::format("; {} by its byte order mark", encoding_) : "") +
         (carriage_returns_ ? "; lines end in CR" : "");
}

void TextDecoder::begin() {
  begun_ = true;
  raw_.resize(kBeginning);
  size_t filled = 0;
  for (size_t got = 1; got > 0 && filled < raw_.size() && why_.empty(); filled += got)
    got = bytes_.read(raw_.data() + filled, raw_.size() - filled, why_);
  raw_.resize(filled);
  for (const Mark& mark : kMarks)
    if (!by_mark_ && raw_.starts_with(mark.bytes)) {
      raw_.erase(0, mark.bytes.size());
      encoding_ = mark.encoding;
      by_mark_ = true;
    }
  if (encoding_.empty()) {
    text_.swap(raw_);
  } else {
    const iconv_t converter = opened_converter(encoding_);
    if (!is_open(converter)) data_fail("encoding \"{}\", expected one that iconv knows", excerpt(encoding_));
    converter_ = converter;
    const std::string broken = std::exchange(why_, "");  // of the bytes: comes after them
    while (text_.size() < kBeginning && decode()) {
    }
    if (why_.empty()) why_ = broken;
  }
  if (text_.find('\0') != std::string::npos) {
    why_ = "a zero byte, expected text (in UTF-16 it is read with --encoding utf-16le or utf-16be)";
    text_.resize(text_.find('\0'));
  }
  const size_t position = text_.find('\r');
  carriage_returns_ =
      position != std::string::npos && position + 1 < text_.size() && text_.find('\n') == std::string::npos;
}

bool TextDecoder::decode() {
  if (next_ == text_.size()) {
    text_.clear();
    next_ = 0;
  }
  if (raw_.size() < kPiece && !over_) {
    const size_t before = raw_.size();
    raw_.resize(before + kPiece);
    const size_t got = bytes_.read(raw_.data() + before, kPiece, why_);
    raw_.resize(before + got);
    over_ = got == 0;
  }
  const size_t before = text_.size();
  text_.resize(before + kPiece);
  char *in = raw_.data(), *out = text_.data() + before;
  size_t in_left = raw_.size(), out_left = kPiece;
  const bool flush = raw_.empty();  // characters that wait for what combines with them
  const size_t result =
      ::iconv(converter_, flush ? nullptr : &in, flush ? nullptr : &in_left, &out, &out_left);
  const int error = result == static_cast<size_t>(-1) ? errno : 0;
  raw_.erase(0, raw_.size() - in_left);
  text_.resize(text_.size() - out_left);
  if (error == EILSEQ && why_.empty())
    why_ = fmt::format("byte {:#04x} begins no character of {}, expected text in it{}",
                       raw_.empty() ? 0 : static_cast<unsigned char>(raw_[0]), encoding_,
                       by_mark_ ? " by its byte order mark" : " (--encoding names another)");
  if (error == EINVAL && over_ && why_.empty())
    why_ = fmt::format("it ends within a character of {}", encoding_);
  return why_.empty() && !(flush && over_);
}

size_t TextDecoder::read(char* buffer, size_t count, std::string& why) {
  if (!begun_) begin();
  while (converter_ != nullptr && next_ == text_.size() && why_.empty() && decode()) {
  }
  size_t n = std::min(count, text_.size() - next_);
  if (n > 0) {
    std::memcpy(buffer, text_.data() + next_, n);
    next_ += n;
  } else if (converter_ == nullptr && why_.empty()) {
    n = bytes_.read(buffer, count, why_);
  }
  if (next_ == text_.size() && !why_.empty()) why = why_;
  if (!carriage_returns_) return n;
  if (const char* feed = std::find(buffer, buffer + n, '\n'); feed != buffer + n) {
    why = "a line that ends in LF after lines that end in CR, expected ends of one kind";
    n = static_cast<size_t>(feed - buffer);
  }
  std::replace(buffer, buffer + n, '\r', '\n');
  return n;
}

}  // namespace adj
