#include <adjoint/core/text.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/node_ids.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace adj {

namespace {

constexpr int64_t kExact = int64_t{1} << 53;  // whole numbers below it are exact in double

/// Most files number nodes nearly from 0: a table is much faster than hashing there.
constexpr int64_t kSmall = int64_t{1} << 24;
constexpr size_t kFirstSlots = 1024;

uint64_t mixed(uint64_t x) {  // SplitMix64 finalizer
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool is_exact_integer(std::string_view text) {
  const std::optional<int64_t> integer = integer_in(text);
  return integer && *integer > -kExact && *integer < kExact;
}

}  // namespace

std::string_view without_fraction(std::string_view text, Decimal decimal) {
  if (!text.ends_with(".0") && (decimal == Decimal::point || !text.ends_with(",0"))) return text;
  const std::string_view whole = text.substr(0, text.size() - 2);
  return is_exact_integer(whole) ? whole : text;
}

std::optional<int64_t> integer_id(std::string_view text, Decimal decimal) {
  if (const std::optional<int64_t> integer = integer_in(without_fraction(text, decimal))) return integer;
  const std::optional<double> number = double_in(text);
  if (!number || std::abs(*number) >= static_cast<double>(kExact) || std::floor(*number) != *number)
    return {};
  return static_cast<int64_t>(*number);
}

void IdSpellings::add(std::string_view field, std::string_view node) {
  if (field == node || count++ > 0) return;
  spelling = field;
  name = node;
}

void IdSpellings::merge(const IdSpellings& later) {
  if (count == 0)
    *this = later;
  else
    count += later.count;
}

std::string IdSpellings::text(std::string_view thing) const {
  if (count == 0) return "";
  return fmt::format("{} field{} of a number, as \"{}\" of \"{}\": the same {}", count,
                     count == 1 ? " is another spelling" : "s are other spellings", excerpt(spelling),
                     excerpt(name), thing);
}

std::string IdSpellings::note(std::string_view thing) const { return count == 0 ? "" : "; " + text(thing); }

std::string_view NodeIds::name(int32_t node) const {
  const auto k = static_cast<size_t>(node);
  return std::string_view(bytes_).substr(static_cast<size_t>(ends_[k]),
                                         static_cast<size_t>(ends_[k + 1] - ends_[k]));
}

/// The slot of the id, or where it would be inserted.
size_t NodeIds::slot_of(int64_t id) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = mixed(static_cast<uint64_t>(id)) & mask;
  while (slots_[slot] != 0 && ids_[static_cast<size_t>(slots_[slot] - 1)] != id) slot = (slot + 1) & mask;
  return slot;
}

size_t NodeIds::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = mixed(std::hash<std::string_view>{}(text)) & mask;
  while (slots_[slot] != 0 && name(slots_[slot] - 1) != text) slot = (slot + 1) & mask;
  return slot;
}

void NodeIds::grow() {
  if (static_cast<size_t>(hashed_) < slots_.size() / 2) return;
  std::vector<int32_t> before(std::max(kFirstSlots, 2 * slots_.size()), 0);
  before.swap(slots_);
  for (int32_t node : before)
    if (node != 0)
      slots_[kind_ == Kind::names ? slot_of(name(node - 1)) : slot_of(ids_[static_cast<size_t>(node - 1)])] =
          node;
}

int32_t NodeIds::add(int64_t id) {
  if (kind_ == Kind::numbers) {
    size_ = std::max(size_, id + 1);
    least_ = std::min(least_, id);
    return static_cast<int32_t>(id);
  }
  const bool small = id >= 0 && id < kSmall;
  if (small && static_cast<size_t>(id) >= small_.size())
    small_.resize(
        std::min(static_cast<size_t>(kSmall), std::max(static_cast<size_t>(id) + 1, 2 * small_.size())));
  if (!small) grow();
  int32_t& node = small ? small_[static_cast<size_t>(id)] : slots_[slot_of(id)];
  if (node == 0) {
    if (size_ == kMost) return -1;
    node = static_cast<int32_t>(++size_);
    ids_.push_back(id);
    hashed_ += !small;
  }
  return node - 1;
}

int32_t NodeIds::add(std::string_view text) {
  grow();
  const size_t slot = slot_of(text);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  const int32_t same = find_spelling(text);
  if (same < 0) return insert(text, slot);
  spellings_.add(text, name(same));
  return same;
}

int32_t NodeIds::add_exact(std::string_view text) {
  grow();
  const size_t slot = slot_of(text);
  return slots_[slot] != 0 ? slots_[slot] - 1 : insert(text, slot);
}

int32_t NodeIds::insert(std::string_view text, size_t slot) {
  if (size_ == kMost) return -1;
  slots_[slot] = static_cast<int32_t>(++size_);
  bytes_ += text;
  ends_.push_back(static_cast<int64_t>(bytes_.size()));
  ++hashed_;
  return slots_[slot] - 1;
}

/// The node whose name is the same number, if no node has this text; -1: none.
int32_t NodeIds::find_spelling(std::string_view text) const {
  const std::string_view whole = without_fraction(text, decimal_);
  if (whole.size() == text.size() && !is_exact_integer(text)) return -1;
  for (const std::string_view fraction : {"", ".0", ",0"}) {
    if (fraction == ",0" && decimal_ == Decimal::point) break;
    if (const int32_t node = slots_[slot_of(std::string(whole).append(fraction))]; node != 0) return node - 1;
  }
  return -1;
}

int32_t NodeIds::find(int64_t id) const {
  if (kind_ == Kind::numbers) return id >= 0 && id < size_ ? static_cast<int32_t>(id) : -1;
  if (id >= 0 && id < kSmall)
    return static_cast<size_t>(id) < small_.size() ? small_[static_cast<size_t>(id)] - 1 : -1;
  return slots_.empty() ? -1 : slots_[slot_of(id)] - 1;
}

int32_t NodeIds::find(std::string_view field) const {
  if (kind_ == Kind::names) {
    const int32_t node = slots_.empty() ? -1 : slots_[slot_of(field)] - 1;
    return node >= 0 || slots_.empty() ? node : find_spelling(field);
  }
  const std::optional<int64_t> id = integer_id(field, decimal_);
  return id ? find(*id) : -1;
}

int32_t NodeIds::find(std::string_view field, IdSpellings& spellings) const {
  const int32_t node = find(field);
  if (node >= 0 && kind_ == Kind::names) spellings.add(field, name(node));
  return node;
}

bool NodeIds::add_text(std::string_view field) {
  if (kind_ == Kind::names) return add(field) >= 0;
  const std::optional<int64_t> id = integer_id(field, decimal_);
  return id && (kind_ != Kind::numbers || (*id >= 0 && *id < kMost)) && add(*id) >= 0;
}

std::string NodeIds::text(int32_t node) const {
  if (kind_ == Kind::names) return std::string(name(node));
  return std::to_string(kind_ == Kind::integers ? ids_[static_cast<size_t>(node)] : node);
}

void NodeIds::forget_first(int64_t count) {
  const int64_t bytes = ends_[static_cast<size_t>(count)];
  bytes_.erase(0, static_cast<size_t>(bytes));
  ends_.erase(ends_.begin(), ends_.begin() + count);
  for (int64_t& end : ends_) end -= bytes;
  size_ -= count;
  hashed_ -= count;
  std::fill(slots_.begin(), slots_.end(), 0);
  for (int32_t node = 0; node < size_; ++node) slots_[slot_of(name(node))] = node + 1;
}

std::string NodeIds::str() const {
  if (kind_ == Kind::names) return "names" + spellings_.note();
  if (kind_ == Kind::integers) {
    const auto [least, most] = std::minmax_element(ids_.begin(), ids_.end());
    return fmt::format("integers from {} to {}", *least, *most);
  }
  return fmt::format("node numbers, from 0{}",
                     least_ > 0 && least_ < size_ ? fmt::format(" (the smallest is {})", least_) : "");
}

void NodeIds::move_to(ItemTable& items) {
  if (kind_ == Kind::names) {
    items.node_names = Tensor::empty({static_cast<int64_t>(bytes_.size())}, DType::u8);
    std::copy(bytes_.begin(), bytes_.end(), items.node_names.mutable_data<uint8_t>());
    items.node_name_offsets = Tensor::from(ends_);
  } else if (kind_ == Kind::integers) {
    bool identity = true;
    for (size_t k = 0; identity && k < ids_.size(); ++k) identity = ids_[k] == static_cast<int64_t>(k);
    if (!identity) items.node_ids = Tensor::from(ids_);
  }
}

}  // namespace adj
