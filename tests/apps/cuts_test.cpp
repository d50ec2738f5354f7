#include "process.h"
#include "small_dataset.h"
#include <adjoint/kernels/tiles/tile_spmm.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("a training reads its cuts from a file, with the same bits, and refuses those of another graph") {
  bool any = false;
  for (Device device : devices()) {
    if (device.is_cpu() || !kernels::has_tile_spmm(device)) continue;
    any = true;
    const TemporaryDirectory folder;
    const std::string cuts = folder.file("cuts.h5");
    write_small_dataset(folder.file("1.h5"), 1);
    write_small_dataset(folder.file("2.h5"), 2);
    const auto train = [&](const std::string& data, const std::string& metrics) {
      return run("train_gcn", {"--data", folder.file(data), "--epochs", "5", "--device", device.str(),
                               "--precision", "tf32", "--kernels", "hybrid", "--quiet", "--explain",
                               "--metrics", folder.file(metrics), "--cuts", cuts});
    };
    const Outcome first = succeeds(train("1.h5", "first.csv"));
    CHECK(mentions(first.out, {"cut of 120 x 120 with ", ": new, will be written to " + cuts}));
    const std::string written = contents_of(cuts);
    CHECK(!written.empty());
    const Outcome second = succeeds(train("1.h5", "second.csv"));
    CHECK(mentions(second.out, {"cut of 120 x 120 with ", ": read from " + cuts}));
    CHECK(second.out.find(": made, ") == std::string::npos);
    CHECK(contents_of(folder.file("second.csv")) == contents_of(folder.file("first.csv")));
    const Outcome other = train("2.h5", "other.csv");
    CHECK(other.status == 1);
    CHECK(mentions(other.err, {cuts + ": cuts of another graph, expected "}));
    CHECK(!std::filesystem::exists(folder.file("other.csv")));  // before training
    CHECK(contents_of(cuts) == written);
  }
  if (!any) MESSAGE("skipped: no GPU of compute capability 9.0");
}
