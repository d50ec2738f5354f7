// dataset_copy IN OUT: loads a dataset and saves it again, for tests that compare our files with another
// library.

#include <adjoint/core/log.h>
#include <adjoint/data/dataset.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  adj::set_log_level(adj::LogLevel::error);  // classes without a label are no concern of theirs
  try {
    adj::save_dataset(adj::load_dataset(argv[1]), argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
