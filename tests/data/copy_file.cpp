// copy_file KIND IN OUT: reads a file and writes it again, for tests that compare our files with another
// library. KIND is dataset, safetensors, or bits: the bit tensor of the group "q", with the numbers that it
// encodes as "values".

#include <adjoint/core/log.h>
#include <adjoint/data/bit_tensors.h>
#include <adjoint/data/dataset.h>
#include <adjoint/data/safetensors.h>
#include <adjoint/kernels/bits/bit_pack.h>

int main(int argc, char** argv) {
  using namespace adj;
  if (argc != 4) return 2;
  set_log_level(LogLevel::error);  // no warnings of classes without a label: tests compare stderr
  const std::string kind = argv[1], in = argv[2], out = argv[3];
  try {
    if (kind == "dataset") {
      save_dataset(load_dataset(in), out);
    } else if (kind == "safetensors") {
      const auto tensors = load_safetensors(in);
      save_safetensors(out, {tensors.begin(), tensors.end()}, SafetensorsReader::open(in).metadata());
    } else if (kind != "bits") {
      return 2;
    } else {
      const BitTensor q = read_bits(H5Reader::open(in), "q");
      H5Writer file(out);
      write_bits(file, "q", q);
      file.write("values", to_values(q));
      file.write("sums", q.sums);
      file.commit();
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
