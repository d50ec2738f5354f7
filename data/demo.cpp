#include <adjoint/data/dataset.h>

extern "C" {
extern const unsigned char adjoint_data_demo[];
extern const unsigned char adjoint_data_demo_end[];
}

namespace adj {

Dataset load_demo_dataset() {
  const auto* begin = reinterpret_cast<const std::byte*>(adjoint_data_demo);
  const auto* end = reinterpret_cast<const std::byte*>(adjoint_data_demo_end);
  return load_dataset(std::span(begin, end), "demo dataset");
}

}  // namespace adj
