#include "formats.h"
#include <adjoint/data/import/triples.h>

#include <filesystem>

namespace adj::apps {

Format triples_format() {
  const auto columns = std::make_shared<std::string>();
  Format format{
      "triples",
      "the triples of a knowledge graph, a type of edges for each relation: TRAIN VALID TEST (or TRAIN "
      "alone), text with three names a line, or OpenKE's train2id.txt; or the folder of such files",
      {{"columns", columns.get(), "LIST",
        "what a line of names has (default: by a header, else head,relation,tail)"}},
      {}};
  format.further_inputs = std::make_shared<std::vector<std::string>>();
  format.keeps_types = true;
  format.import = [columns, more = format.further_inputs](const std::string& input, auto& notes) {
    std::error_code error;
    const bool folder = std::filesystem::is_directory(input, error);
    if (!more->empty() && (folder || more->size() != 2))
      usage_fail("convert triples: {} inputs, expected a folder, TRAIN alone, or TRAIN VALID TEST",
                 more->size() + 1);
    const TripleFiles files = folder          ? find_triple_files(input)
                              : more->empty() ? TripleFiles{input}
                                              : TripleFiles{input, more->at(0), more->at(1)};
    return import_triples(files, *columns, notes);
  };
  return format;
}

}  // namespace adj::apps
