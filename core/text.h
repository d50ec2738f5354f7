#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace adj {

/// `text` made safe for a terminal, on one line. Control characters, bidirectional formatting characters and
/// invalid UTF-8 bytes are escaped as in C ("\n", "\x1b", "\u202e"). For names from files and command lines.
std::string printable(std::string_view text);

/// Same, shortened if too long for a message.
std::string excerpt(std::string_view text);

/// A message that may quote such text: printable, and without its middle if it is too long; the end says what
/// is wrong. All errors and log lines go through it.
std::string message_line(std::string_view text);

/// `text` as a JSON string with quotes; control characters are escaped. Always valid UTF-8: an invalid byte
/// becomes U+FFFD.
std::string json_text(std::string_view text);

/// Bytes of the longest beginning of `text` that is well-formed UTF-8 (RFC 3629).
size_t utf8_length(std::string_view text);
inline bool is_utf8(std::string_view text) { return utf8_length(text) == text.size(); }  ///< well-formed

/// Parses the whole text as a number; empty if it is not one or does not fit T.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace adj
