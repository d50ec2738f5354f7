#include "process.h"

using namespace adj;
using namespace adj::test;

TEST_CASE("ADJOINT_ISA selects the CPU kernels, and programs print the selection") {
  const Words training{"--epochs", "5", "--device", "cpu", "--explain"};
  const auto says = [](const Outcome& outcome, std::string_view isa) {
    return outcome.out.starts_with(fmt::format("CPU kernels: {}", isa));
  };
  CHECK(says(succeeds("train_gcn", training), describe_cpu_isa()));
  const bool two = describe_cpu_isa().find("(of avx2, avx512)") != std::string::npos;
  const std::string lower = two ? "avx2" : std::string(cpu_isa());
  CHECK(says(succeeds(run("train_gcn", training, {{"ADJOINT_ISA", lower}})), lower));

  const Outcome wrong = run("train_gcn", training, {{"ADJOINT_ISA", "avx9"}});
  CHECK(wrong.status == 2);
  CHECK(mentions(wrong.err, "ADJOINT_ISA: this build has CPU kernels for "));
  CHECK(mentions(wrong.err, ", not for 'avx9'"));
}
