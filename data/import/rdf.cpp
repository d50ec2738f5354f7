#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/rdf_labels.h>
#include <adjoint/data/import/detail/rdf_statements.h>
#include <adjoint/data/import/rdf.h>

#include <algorithm>

namespace adj {

namespace {

constexpr int64_t kMostTriples = NodeIds::kMost;

detail::RdfSyntax syntax_of(const std::string& path) {
  std::string name = lower(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".nt")) return detail::RdfSyntax::ntriples;
  if (name.ends_with(".ttl")) return detail::RdfSyntax::turtle;
  data_fail("{}: expected a name that ends in .nt (N-Triples) or .ttl (Turtle), or in these and .gz",
            excerpt(path));
}

class RdfImport {
 public:
  explicit RdfImport(const RdfOptions& options) : options_(options) {
    for (const std::string& iri : options.drop_predicates) dropped_.emplace_back(iri, 0);
  }

  void read(const std::string& path, size_t number, Progress& reading) {
    const int64_t before = statements_;
    const detail::RdfContext context{syntax_of(path), options_.base,
                                     number == 0 ? "" : fmt::format("{}/", number + 1)};
    detail::read_rdf_statements(path, context, &reading,
                                [&](const detail::RdfStatement& statement) { add(statement, path); });
    if (statements_ == before) data_fail("{}: no triples, expected some", excerpt(path));
  }

  TypedDataset finish(std::vector<std::string>& notes) {
    for (const auto& [iri, count] : dropped_)
      if (count == 0) data_fail("--drop-predicate {}: no triple has this predicate", excerpt(iri));
    const int64_t kept = triples_.size();
    const std::vector<detail::RelationEdges> edges = triples_.take(predicates_.size());
    if (kept == 0) data_fail("no triples are left of {}, expected some", statements_);
    note_triples(kept, notes);
    note_nodes(notes);
    ItemTable labelled;
    if (!options_.labels.train.empty()) {
      detail::read_rdf_labels(options_.labels, nodes_, labelled, notes);
      detail::warn_of_label_edges(labelled, nodes_, predicates_, edges);
    }
    TypedDataset data = detail::dataset_of_triples(nodes_, predicates_, edges, options_.inverse, false);
    ItemTable& items = data.nodes.begin()->second;
    labelled.node_names = std::move(items.node_names);
    labelled.node_name_offsets = std::move(items.node_name_offsets);
    items = std::move(labelled);
    return data;
  }

 private:
  void add(const detail::RdfStatement& statement, const std::string& path) {
    ++statements_;
    for (auto& [iri, count] : dropped_)
      if (statement.predicate == iri) return void(++count);
    if (statement.has_literal && options_.literals == Literals::drop) return void(++literals_);
    const int32_t head = nodes_.add_exact(statement.subject),
                  predicate = predicates_.add_exact(statement.predicate),
                  tail = nodes_.add_exact(statement.object);
    if (head < 0 || tail < 0 || triples_.size() >= kMostTriples)
      data_fail("{}: more than {} nodes or triples, expected fewer", excerpt(path), kMostTriples);
    triples_.add(head, predicate, tail);
  }

  void note_triples(int64_t kept, std::vector<std::string>& notes) const {
    std::string text =
        fmt::format("{} triples with {} predicates, each a type of edges", statements_, predicates_.size());
    if (triples_.repeated() > 0)
      text += fmt::format("; {} repeat another, which are kept once: {} edges", triples_.repeated(),
                          kept - triples_.repeated());
    if (literals_ > 0) text += fmt::format("; {} with a literal left out", literals_);
    notes.push_back(std::move(text));
    for (const auto& [iri, count] : dropped_)
      notes.push_back(fmt::format("{} triples with the predicate {} left out", count, printable(iri)));
    if (options_.inverse)
      notes.push_back(fmt::format("reverse edges of each type as another one, called PREDICATE{}",
                                  detail::kInverseSuffix));
  }

  void note_nodes(std::vector<std::string>& notes) const {
    int64_t blank = 0, literals = 0;
    for (int32_t node = 0; node < nodes_.size(); ++node) {
      const std::string name = nodes_.text(node);
      blank += name.starts_with("_:");
      literals += name.starts_with('"');
    }
    notes.push_back(fmt::format("nodes by name: {} IRIs, {} blank nodes, {} literals",
                                nodes_.size() - blank - literals, blank, literals));
  }

  const RdfOptions& options_;
  NodeIds nodes_{NodeIds::Kind::names}, predicates_{NodeIds::Kind::names};
  detail::TripleList triples_;
  std::vector<std::pair<std::string, int64_t>> dropped_;  // predicates, and how many triples had them
  int64_t statements_ = 0, literals_ = 0;
};

}  // namespace

TypedDataset import_rdf(const std::vector<std::string>& files, const RdfOptions& options,
                        std::vector<std::string>& notes) {
  for (const std::string& path : files) (void)syntax_of(path);
  ReadProgress reading(files);
  RdfImport import(options);
  for (size_t k = 0; k < files.size(); ++k) import.read(files[k], k, reading);
  return import.finish(notes);
}

}  // namespace adj
