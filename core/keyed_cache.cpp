#include <adjoint/core/keyed_cache.h>

#include <map>
#include <typeindex>

namespace adj {

void detail::MakeOnce::check_maker() const {
  // Only this thread ever stores its own address.
  ADJ_CHECK(maker_.load(std::memory_order_relaxed) != &this_thread,
            "a lazily computed object was requested by its own initializer");
}

struct KeyedCache::Slots {
  std::mutex mutex;  // guards the map only; not held while an entry is made
  std::map<std::pair<std::type_index, int64_t>, std::shared_ptr<Slot>> map;
};

KeyedCache::KeyedCache() : slots_(std::make_unique<Slots>()) {}
KeyedCache::~KeyedCache() = default;

std::shared_ptr<KeyedCache::Slot> KeyedCache::slot_of(const std::type_info& type, int64_t parameter) {
  const std::lock_guard lock(slots_->mutex);
  std::shared_ptr<Slot>& slot = slots_->map[{type, parameter}];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

void KeyedCache::carry_to(detail::Carrier& carrier, KeyedCache& other) {
  auto kept = [&] {
    const std::lock_guard lock(slots_->mutex);
    return slots_->map;
  }();
  for (const auto& [key, slot] : kept) {
    if (!slot->once.done() || slot->carry == nullptr) continue;
    auto copy = std::make_shared<Slot>();
    copy->value = slot->carry(slot->value.get(), carrier);
    copy->carry = slot->carry;
    copy->once.set_done();
    other.slots_->map.insert_or_assign(key, std::move(copy));
  }
}

}  // namespace adj
