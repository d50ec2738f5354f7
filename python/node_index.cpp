#include "tables.h"
#include <adjoint/core/text.h>

#include <algorithm>
#include <set>

namespace adj::python {

namespace {

constexpr size_t kShown = 5;

/// "'a', 'b' and 3 more" of a sequence.
std::string quoted(nb::handle labels) {
  std::string text;
  size_t k = 0;
  for (nb::handle label : labels)
    if (k++ < kShown) text += (k == 1 ? "" : ", ") + excerpt(nb::cast<std::string>(nb::repr(label)));
  return k > kShown ? fmt::format("{} and {} more", text, k - kShown) : text;
}

/// The labels of nodes: one of the two lists.
struct Labels {
  std::vector<std::string> texts;
  std::vector<int64_t> integers;

  bool are_texts() const { return !texts.empty(); }
  size_t size() const { return std::max(texts.size(), integers.size()); }
  std::string str(size_t k) const {
    return are_texts() ? "'" + excerpt(texts[k]) + "'" : std::to_string(integers[k]);
  }
  int32_t find_in(const NodeIds& ids, size_t k) const {
    return are_texts() ? ids.find(texts[k]) : ids.find(integers[k]);
  }
  int32_t add_to(NodeIds& ids, size_t k) const {
    return are_texts() ? ids.add(texts[k]) : ids.add(integers[k]);
  }
};

Labels labels_in(const char* name, nb::handle object) {
  Labels labels;
  if (!is_text(object)) {
    const Tensor integers = to_integers(name, object);
    ADJ_CHECK(integers.dims() == 1, "{}: {}, expected one dimension", name, integers.str());
    labels.integers = integers.to(DType::i64).to(Device::cpu()).to_vector<int64_t>();
    return labels;
  }
  const nb::object array = to_numpy(name, object);
  ADJ_CHECK(nb::cast<int>(array.attr("ndim")) == 1, "{}: {} dimensions, expected one", name,
            nb::cast<int>(array.attr("ndim")));
  const nb::list values(array.attr("tolist")());
  for (nb::handle value : values) {
    const bool text = nb::isinstance<nb::str>(value), integer = nb::isinstance<nb::int_>(value);
    if ((!text && !integer) || (text ? !labels.integers.empty() : !labels.texts.empty()))
      fail("{}: {} at position {}, expected a name (str) in every place, or an integer in every place", name,
           nb::cast<std::string>(nb::repr(value)), labels.size());
    if (text)
      labels.texts.push_back(nb::cast<std::string>(value));
    else
      labels.integers.push_back(nb::cast<int64_t>(value));
  }
  return labels;
}

}  // namespace

bool is_default(nb::handle index) {
  if (is_text(index)) return false;
  const nb::object values = to_numpy("index", index);
  if (nb::cast<int>(values.attr("ndim")) != 1 || std::string("iu").find(kind_of(values)) == std::string::npos)
    return false;
  const nb::module_ numpy = nb::module_::import_("numpy");
  return nb::cast<bool>(nb::bool_(numpy.attr("array_equal")(values, numpy.attr("arange")(nb::len(values)))));
}

nb::object align(const char* name, nb::handle object, nb::handle wanted, const std::string& origin) {
  if (wanted.is_none() || !has_index(object)) return nb::borrow(object);
  const nb::object index = object.attr("index");
  if (nb::cast<bool>(nb::bool_(index.attr("equals")(wanted)))) return nb::borrow(object);
  if (!nb::cast<bool>(nb::bool_(index.attr("is_unique"))))
    fail("{}: its index has {} more than once, expected each row once", name,
         quoted(index[index.attr("duplicated")()].attr("unique")()));
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object order = index.attr("get_indexer")(wanted);
  const nb::object missing = numpy.attr("asarray")(wanted)[numpy.attr("less")(order, 0)].attr("tolist")();
  if (nb::len(missing) > 0)
    fail(
        "{}: its index lacks {}, of {}; expected a row for each (set_axis gives rows in the right order "
        "their names, reindex missing labels)",
        name, quoted(missing), origin);
  const nb::object others = index[numpy.attr("logical_not")(index.attr("isin")(wanted))].attr("tolist")();
  if (nb::len(others) > 0)
    fail("{}: its index has {}, which {} lacks; expected the same rows (.loc drops the others)", name,
         quoted(others), origin);
  return object.attr("iloc")[order];
}

NodeIndex::NodeIndex(std::string origin, nb::object labels)
    : origin_(std::move(origin)), labels_(std::move(labels)) {
  if (nb::hasattr(labels_, "nlevels") && nb::cast<int>(labels_.attr("nlevels")) > 1)
    fail(
        "{}: an index of several levels, expected one name per node (reset_index(drop=True) numbers the "
        "rows)",
        origin_);
  if (nb::len(labels_) > 0 && !is_text(labels_) &&
      std::string("iu").find(kind_of(to_numpy(origin_.c_str(), labels_))) == std::string::npos)
    fail("{}: of {}, expected names (str) or integers (x.reset_index(drop=True) numbers the rows)", origin_,
         dtype_text(labels_));
  const Labels names = labels_in(origin_.c_str(), labels_);
  ids_.emplace(names.are_texts() ? NodeIds::Kind::names : NodeIds::Kind::integers);
  for (size_t k = 0; k < names.size(); ++k)
    if (const int32_t node = names.add_to(*ids_, k); node != static_cast<int64_t>(k))
      fail("{}: {} of node {} again at node {}, expected distinct names", origin_, names.str(k), node, k);
  named_ = !is_default(labels_);
}

NodeIndex::NodeIndex(const char* name, nb::handle src, nb::handle dst) : origin_(name), named_(true) {
  ids_.emplace(NodeIds::Kind::names);
  const Labels sources = labels_in(name, src), targets = labels_in(name, dst);
  if (!sources.are_texts() || !targets.are_texts())
    fail("{}: names at one end and integers at the other, expected the same kind", name);
  for (size_t k = 0; k < std::min(sources.size(), targets.size()); ++k) {
    (void)sources.add_to(*ids_, k);
    (void)targets.add_to(*ids_, k);
  }
}

Tensor NodeIndex::find(const char* name, nb::handle labels) const {
  if (!named_ && !is_text(labels)) return to_integers(name, labels);
  const Labels wanted = labels_in(name, labels);
  if (!ids_ && wanted.are_texts())
    fail(
        "{}: names such as {}, but nodes have numbers only; expected numbers, a DataFrame x with the names "
        "as index, or node_names=",
        name, wanted.str(0));
  if (wanted.size() > 0 && wanted.are_texts() != (ids_->kind() == NodeIds::Kind::names))
    fail(
        "{0}: {1} such as {2}, but {3} holds {4} such as {5}; expected the same (for row numbers r give "
        "names[r])",
        name, wanted.are_texts() ? "names" : "integers", wanted.str(0), origin_,
        wanted.are_texts() ? "integers" : "names", ids_->text(0));
  std::vector<int32_t> nodes;
  nb::list missing;
  std::set<std::string> seen;
  for (size_t k = 0; k < wanted.size(); ++k) {
    nodes.push_back(wanted.find_in(*ids_, k));
    if (nodes.back() >= 0) continue;
    if (!seen.insert(wanted.str(k)).second) continue;
    missing.append(wanted.are_texts() ? nb::object(nb::str(wanted.texts[k].c_str(), wanted.texts[k].size()))
                                      : nb::object(nb::int_(wanted.integers[k])));
  }
  if (nb::len(missing) > 0)
    fail("{}: {} missing in {}, expected its names only", name, quoted(missing), origin_);
  return Tensor::from(nodes);
}

}  // namespace adj::python
