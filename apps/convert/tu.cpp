#include "formats.h"
#include "node_options.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/tu.h>

#include <memory>

namespace adj::apps {

Format tu_format() {
  struct Arguments : TuOptions {
    std::string file;
  };
  const auto arguments = std::make_shared<Arguments>();
  Format format{
      "tu",
      "a folder of the TU collection, with NAME_A.txt and its other files",
      {{"node-attributes", &arguments->node_attributes, "",
        "use node attributes as features, before the node labels"},
       {"edge-attributes", &arguments->edge_attributes, "", "use edge attributes, before the edge labels"},
       {"keep-edges", &arguments->keep_edges, "", "keep self-loops and parallel edges"},
       {"like", &arguments->file, "FILE",
        "a dataset or trained model: attributes and columns of labels as there, for later graphs"}},
      [arguments](const std::string& input, auto& notes) {
        TuOptions options = *arguments;
        if (const std::string& path = arguments->file; !path.empty()) {
          if (options.node_attributes || options.edge_attributes)
            usage_fail(
                "--like: conflicts with --node-attributes and --edge-attributes, which its file decides");
          options.like = TuLike{path, read_like_file(path).encoder.feature_names(), {}};
          if (const auto edges = read_like_attributes(path))
            options.like->edges = edges->encoder.feature_names();
        }
        return import_tu(input, options, &notes);
      }};
  format.files = [arguments] {
    std::vector<std::pair<std::string, std::string>> files;
    if (!arguments->file.empty()) files.emplace_back("like", arguments->file);
    return files;
  };
  return format;
}

}  // namespace adj::apps
