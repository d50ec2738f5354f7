#include <adjoint/core/text.h>

#include <cstdint>

#include <fmt/format.h>

namespace adj {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct Character {
  uint32_t code;  // kNone: an invalid UTF-8 byte
  std::string_view bytes;
};

/// First character of a non-empty text. Overlong forms, surrogates and values beyond Unicode are invalid (RFC
/// 3629).
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, text.substr(0, 1)};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t code = lead & (0x7fU >> length);
  bool valid = lead >= 0xc2 && lead <= 0xf4 && length <= text.size();
  for (size_t i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0U) == 0x80;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  valid = valid && code >= kLeast[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? Character{code, text.substr(0, length)} : Character{kNone, text.substr(0, 1)};
}

bool is_control(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// Line separators and bidirectional formatting characters, which are not control characters.
bool is_unruly(uint32_t code) {
  return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

template <class F>
std::string rewritten(std::string_view text, F&& add) {
  std::string result;
  while (!text.empty()) {
    const Character next = first_of(text);
    add(result, next);
    text.remove_prefix(next.bytes.size());
  }
  return result;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      ++offset;
      continue;
    }
    const Character next = first_of(text.substr(offset));
    if (next.code == kNone) break;
    offset += next.bytes.size();
  }
  return offset;
}

std::string printable(std::string_view text) {
  return rewritten(text, [](std::string& result, const Character& c) {
    if (c.code == '\n') {
      result += "\\n";
    } else if (c.code == '\t') {
      result += "\\t";
    } else if (c.code == '\r') {
      result += "\\r";
    } else if (c.code == kNone || (is_control(c.code) && c.code < 0x80)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c.bytes[0]));
    } else if (is_control(c.code) || is_unruly(c.code)) {
      result += fmt::format("\\u{:04x}", c.code);
    } else {
      result += c.bytes;
    }
  });
}

std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 400;
  return printable(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

std::string message_line(std::string_view text) {
  constexpr size_t kMost = 2000, kEnd = 500;
  if (text.size() <= kMost) return printable(text);
  return printable(text.substr(0, kMost - kEnd)) + " ... " + printable(text.substr(text.size() - kEnd));
}

std::string json_text(std::string_view text) {
  return "\"" +
         rewritten(text,
                   [](std::string& result, const Character& c) {
                     if (c.code == '"' || c.code == '\\') {
                       result += '\\';
                       result += c.bytes;
                     } else if (c.code == kNone) {
                       result += "\xef\xbf\xbd";
                     } else if (is_control(c.code)) {
                       result += fmt::format("\\u{:04x}", c.code);
                     } else {
                       result += c.bytes;
                     }
                   }) +
         "\"";
}

}  // namespace adj
