#include <adjoint/core/error.h>
#include <adjoint/training/tensorboard.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <training/tensorboard.pb.h>
#include <unistd.h>

namespace adj::training {

namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0x82f63b78u : 0u);
  }
  return table;
}();

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// No two of a machine have the same.
std::string file_name() {
  static std::atomic<int> files = 0;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<int64_t>(now()),
                     host[0] == '\0' ? "localhost" : host.data(), getpid(), files++);
}

template <class T>
void append(std::string& text, T number) {
  for (size_t byte = 0; byte < sizeof number; ++byte) text += static_cast<char>(number >> 8 * byte & 0xff);
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::string tf_record(std::string_view data) {
  std::string record;
  append(record, uint64_t{data.size()});
  append(record, masked_crc(record));
  record += data;
  append(record, masked_crc(data));
  return record;
}

bool has_events(const std::string& folder) {
  std::error_code error;  // no folder, no events
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().find("tfevents") != std::string::npos) return true;
  return false;
}

std::string events_folder(const std::string& folder, int64_t run, int64_t runs) {
  return runs < 2 ? folder : (std::filesystem::path(folder) / fmt::format("run-{}", run + 1)).string();
}

TensorBoard::TensorBoard(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) data_fail("{}: {}", folder, error.message());
  path_ = (std::filesystem::path(folder) / file_name()).string();
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) data_fail("{}: {}", path_, std::strerror(errno));
  tensorboard::Event first;
  first.set_wall_time(now());
  first.set_file_version("brain.Event:2");
  write(first.SerializeAsString());
}

void TensorBoard::add(int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  tensorboard::Event event;
  event.set_wall_time(now());
  event.set_step(step);
  for (const auto& [tag, number] : scalars) {
    tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    value.set_simple_value(static_cast<float>(number));
  }
  write(event.SerializeAsString());
}

void TensorBoard::write(std::string_view event) {
  if (!(file_ << tf_record(event) << std::flush)) data_fail("{}: {}", path_, std::strerror(errno));
}

}  // namespace adj::training
