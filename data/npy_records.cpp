#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/npy_records.h>

#include <algorithm>

#include <fmt/format.h>

namespace adj::detail {

namespace {

/// The code points of a text.
std::u32string decoded(std::string_view text) {
  std::u32string points;
  for (size_t k = 0; k < text.size();) {
    const auto first = static_cast<unsigned char>(text[k]);
    const size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (!is_utf8(text.substr(k, length))) {
      points += U'\ufffd';
      ++k;
      continue;
    }
    char32_t point = length == 1 ? first : first & (0x7fu >> length);
    for (size_t next = 1; next < length; ++next)
      point = point << 6 | (static_cast<unsigned char>(text[k + next]) & 0x3fu);
    points += point;
    k += length;
  }
  return points;
}

template <class T>
void append(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

void write_npy_records(const std::string& path, const std::string& key, const std::vector<int64_t>& numbers,
                       const std::vector<std::string_view>& texts, const std::string& name,
                       const Tensor& values) {
  constexpr size_t kPreamble = 10, kAligned = 64, kPart = size_t{1} << 24;
  std::vector<std::u32string> names;
  size_t longest = 1;
  for (const std::string_view text : texts)
    longest = std::max(longest, names.emplace_back(decoded(text)).size());
  const auto width = static_cast<size_t>(values.size(1));
  // In this machine's order of bytes, as every machine that this library runs on is little-endian.
  std::string header = fmt::format(
      "{{'descr': [('{}', '{}'), ('{}', '<f4', ({},))], 'fortran_order': False, 'shape': ({},), }}", key,
      texts.empty() ? "<i8" : fmt::format("<U{}", longest), name, width, values.size(0));
  header.resize((kPreamble + header.size() + kAligned) / kAligned * kAligned - kPreamble - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  const auto length = static_cast<uint16_t>(header.size());
  append(bytes, &length, 1);
  bytes += header;

  FileReplacement file(path);
  int64_t offset = 0;
  const auto write = [&] {
    file.write(offset, bytes);
    offset += static_cast<int64_t>(bytes.size());
    bytes.clear();
  };
  const float* row = values.data<float>();
  for (size_t i = 0; i < static_cast<size_t>(values.size(0)); ++i, row += width) {
    if (texts.empty()) {
      append(bytes, &numbers[i], 1);
    } else {
      names[i].resize(longest, U'\0');
      append(bytes, names[i].data(), longest);
    }
    append(bytes, row, width);
    if (bytes.size() > kPart) write();
  }
  write();
  file.commit();
}

}  // namespace adj::detail
