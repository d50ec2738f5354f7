// Writes a trained model for other runtimes.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/file.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>

using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string checkpoint, out;
  bool quiet = false;
};

constexpr const char* kUsage = "export_onnx CHECKPOINT.h5 MODEL.onnx [OPTION]...";

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  if (!read_options(
          argc, argv,
          table_of({{"checkpoint", &o.checkpoint, "FILE", "checkpoint of a training, also as first argument"},
                    {"out", &o.out, "FILE", "ONNX file to write, also as second argument"},
                    {"quiet", &o.quiet, "", "print nothing"}}),
          {"checkpoint", "out"}, kUsage,
          "Writes a trained model as ONNX, for graphs of any size in onnxruntime and other runtimes."))
    return false;
  if (o.checkpoint.empty() || o.out.empty())
    usage_fail("expected the checkpoint and the file to write: {}", kUsage);
  if (!o.out.ends_with(".onnx")) usage_fail("--out: expected FILE.onnx, got '{}'", o.out);
  return true;
}

void export_onnx(const Options& o) {
  if (o.quiet) set_log_level(LogLevel::warning);
  RunFiles files;
  files.read("checkpoint", o.checkpoint);
  files.write("out", o.out);
  const TrainedModel trained = load_trained(o.checkpoint);
  const OnnxFile file = to_onnx(trained);
  replace_file(o.out, file.bytes);
  log_info("{} of {} as {}", trained.describe(), trained.origin(), printable(o.out));
  for (const std::string& input : file.inputs) log_info("input {}", input);
  for (const std::string& output : file.outputs) log_info("output {}", output);
  for (const std::string& note : file.notes) log_info("{}", note);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("export_onnx", [&] {
    if (Options o; read(argc, argv, o)) export_onnx(o);
  });
}
