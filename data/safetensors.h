#pragma once

#include <adjoint/core/tensor.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj {

/// A .safetensors file (huggingface/safetensors, README.md, "Format"): named tensors, row-major, after a JSON
/// header of at most 100 MB. F64, F32, BF16, I64, I32 and U8 are read unchanged; BOOL becomes uint8, F16
/// float32. Other dtypes of the format, and more than four dimensions, throw when the tensor is requested.
///
/// open() reads and checks the header only. All errors are one-line DataErrors, "FILE: TENSOR: what was
/// found, what was expected": a header that is not JSON or too large, a duplicate name, an unknown dtype, a
/// size that does not match the shape, tensors that overlap, leave a gap or exceed the file, trailing bytes.
/// Copies share the file; threads may read concurrently.
class SafetensorsReader {
 public:
  static SafetensorsReader open(const std::string& path);

  const std::string& file() const;
  /// Ascending.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;  ///< also for a dtype that is not read
  /// The entries of "__metadata__" by name.
  const std::map<std::string, std::string>& metadata() const;
  /// On the CPU. Throws for an unknown name.
  Tensor tensor(std::string_view name) const;

  /// Throws DataError "FILE: TENSOR: message".
  template <class... Args>
  [[noreturn]] void fail(std::string_view tensor, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(tensor, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Impl;
  explicit SafetensorsReader(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  [[noreturn]] void fail_with(std::string_view tensor, const std::string& message) const;

  std::shared_ptr<const Impl> impl_;
};

/// All tensors of a file, on the CPU: `model.load_state(load_safetensors("model.safetensors"))`.
std::map<std::string, Tensor> load_safetensors(const std::string& path);

/// Writes tensors of any dtype except bits and from any device, atomically (core/file.h):
/// `save_safetensors("model.safetensors", model.state())`. Byte for byte as the reference implementation.
/// Throws DataError if the file cannot be written, and adj::Error for a tensor that is absent or of bits
/// (naming it), and for a name that is repeated, not UTF-8 or "__metadata__".
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace adj
