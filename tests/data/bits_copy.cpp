// bits_copy IN OUT: reads the bit tensor of the group "q", writes it, and as "values" the numbers that it
// encodes, for tests that compare our files with another library.

#include <adjoint/data/bit_tensors.h>
#include <adjoint/kernels/bits/bit_pack.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const adj::BitTensor q = adj::read_bits(adj::H5Reader::open(argv[1]), "q");
    adj::H5Writer out(argv[2]);
    adj::write_bits(out, "q", q);
    out.write("values", adj::to_values(q));
    out.write("sums", q.sums);
    out.commit();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
