#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj::training {

/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78) of `bytes`.
uint32_t crc32c(std::string_view bytes);
/// A record of TensorFlow's TFRecord files, little-endian: length (8 bytes), its masked CRC-32C (4), `data`,
/// its masked CRC-32C (4). Masked: rotated right by 15 bits, plus 0xa282ead8.
std::string tf_record(std::string_view data);

/// Whether a folder has event files: TensorBoard draws all of a folder as one run.
bool has_events(const std::string& folder);
/// The folder of events of run `run` (from 0) of `runs`: `folder`, or for several runs FOLDER/run-R, from 1.
std::string events_folder(const std::string& folder, int64_t run, int64_t runs);

/// Writes scalars that TensorBoard shows (`tensorboard --logdir FOLDER`), each event as soon as it is added,
/// so that a training can be watched. TensorBoard shows each folder as a separate run.
class TensorBoard {
 public:
  /// Creates the folder if needed, and a new event file in it. Throws DataError.
  explicit TensorBoard(const std::string& folder);
  /// Values by tag ("loss/train") at `step`. Throws DataError where they cannot be written.
  void add(int64_t step, const std::vector<std::pair<std::string, double>>& scalars);
  const std::string& path() const { return path_; }  ///< the event file's

 private:
  void write(std::string_view event);
  std::string path_;
  std::ofstream file_;
};

}  // namespace adj::training
