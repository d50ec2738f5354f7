// safetensors_copy IN OUT: reads all tensors and writes them, with the metadata, for tests that hold our
// files with another library.

#include <adjoint/data/safetensors.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto tensors = adj::load_safetensors(argv[1]);
    adj::save_safetensors(argv[2], {tensors.begin(), tensors.end()},
                          adj::SafetensorsReader::open(argv[1]).metadata());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
