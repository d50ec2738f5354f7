#pragma once

#include <string>
#include <string_view>

namespace adj {

/// `text` as a terminal may show it, on one line. Escaped as in C ("\n", "\x1b", "\u202e") are control
/// characters, those that change the direction of writing, and bytes that are no UTF-8. For names out of
/// files and command lines.
std::string printable(std::string_view text);

/// Likewise, and cut where it is too long for a message.
std::string excerpt(std::string_view text);

/// `text` as a JSON string, quotes included, with control characters escaped. Valid UTF-8 whatever it is
/// given: a byte that is none becomes U+FFFD.
std::string json_text(std::string_view text);

/// Well-formed UTF-8 (RFC 3629)?
bool is_utf8(std::string_view text);

}  // namespace adj
