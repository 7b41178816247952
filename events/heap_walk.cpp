#include "events/heap_walk.hpp"

#include "events/providers.hpp"

namespace farport::events {
namespace {

constexpr std::uint32_t kBulkType = 15;  ///< From ClrEtwAll.man.
constexpr heap::TypeId kOtherTypes = 0;
/// Cost of a type and its map node without the name.
constexpr std::size_t kTypeEntryBytes = 192;

/// Whether this bracket ends an array's name, such as "[]" and "[,]", rather than starting type arguments.
bool is_array(std::string_view brackets) {
  const std::size_t end = brackets.find_first_not_of(",*", 1);
  return end != std::string_view::npos && brackets[end] == ']';
}

/// "System.Collections.Generic.List<Orders.Order>" for the runtime's
/// "System.Collections.Generic.List`1[Orders.Order]".
std::string readable(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  std::string closing;  // For the open brackets.
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '`') {
      const std::size_t end = name.find_first_not_of("0123456789", at + 1);
      at = std::min(end, name.size()) - 1;
    } else if (name[at] == '[') {
      const bool array = is_array(name.substr(at));
      text += array ? '[' : '<';
      closing += array ? ']' : '>';
    } else if (name[at] == ']' && !closing.empty()) {
      text += closing.back();
      closing.pop_back();
    } else {
      text += name[at];
    }
  }
  return text;
}

}  // namespace

TypeTable::TypeTable() {
  types_.emplace_back().name = "[types beyond the limit]";
  module_of_.push_back(0);
}

void TypeTable::add(const nettrace::Event& event) {
  modules_.add(event);
  if (event.definition.provider == kRuntimeProvider && event.definition.event_id == kBulkType)
    add_types(nettrace::Cursor(event.payload, event.payload_offset));
}

void TypeTable::add_types(nettrace::Cursor in) {
  const std::uint32_t count = in.u32();
  in.u16();  // The runtime's instance id.
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    const std::uint64_t number = in.u64();
    const std::uint64_t module = in.u64();
    in.u32();  // The name's id.
    in.u32();  // Flags.
    in.u8();   // The kind of type.
    const std::string name = readable(in.utf16());
    const std::uint32_t parameters = in.u32();
    in.take(std::size_t{parameters} * sizeof(std::uint64_t));
    if (in.failed()) return;
    const heap::TypeId type = find_or_add(number);
    if (type == kOtherTypes || !types_[type].name.empty() || !has_room(name.size())) continue;
    types_[type].name = name;
    module_of_[type] = module;
  }
}

heap::TypeId TypeTable::find_or_add(std::uint64_t number) {
  const auto known = by_number_.find(number);
  if (known != by_number_.end()) return known->second;
  if (!has_room(0)) return kOtherTypes;
  const auto added = static_cast<heap::TypeId>(types_.size());
  types_.emplace_back().number = number;
  module_of_.push_back(0);
  by_number_.emplace(number, added);
  return added;
}

void TypeTable::forget_objects() {
  for (heap::Type& type : types_) type.objects = type.bytes = 0;
}

bool TypeTable::has_room(std::size_t bytes) {
  if (held_ + bytes + kTypeEntryBytes > kMaxTypeBytes) return false;
  held_ += bytes + kTypeEntryBytes;
  return true;
}

std::vector<heap::Type> TypeTable::take() {
  for (std::size_t type = 0; type < types_.size(); ++type)
    types_[type].module = modules_.name(module_of_[type]);
  return std::move(types_);
}

namespace {

// Event ids and values from ClrEtwAll.man.
constexpr std::uint32_t kGcStart = 1;
constexpr std::uint32_t kGcEnd = 2;
constexpr std::uint32_t kBulkRootEdge = 16;
constexpr std::uint32_t kBulkDependentHandle = 17;  // GCBulkRootConditionalWeakTableElementEdge
constexpr std::uint32_t kBulkNode = 18;
constexpr std::uint32_t kBulkEdge = 19;
constexpr std::uint32_t kBulkRootStaticVar = 38;

constexpr std::uint32_t kOldestGeneration = 2;
constexpr std::uint32_t kInduced = 1;
constexpr std::uint32_t kNonConcurrent = 0;

constexpr std::uint8_t kStackRoot = 0;
constexpr std::uint8_t kFinalizerRoot = 1;
constexpr std::uint8_t kHandleRoot = 2;
constexpr std::uint32_t kPinning = 1;
constexpr std::uint32_t kWeak = 2;
constexpr std::uint32_t kThreadStatic = 1;

/// Most collections that are tracked at a time.
constexpr std::size_t kMaxCollections = 16;

heap::RootKind kind_of(std::uint8_t kind, std::uint32_t flags) {
  if (kind == kStackRoot) return heap::RootKind::local;
  if (kind == kFinalizerRoot) return heap::RootKind::finalizer;
  if (kind != kHandleRoot) return heap::RootKind::other;
  return (flags & kPinning) != 0 ? heap::RootKind::pinning_handle : heap::RootKind::handle;
}

}  // namespace

HeapWalk::HeapWalk(Keep keep) : keep_(keep) {
  if (keep_ == Keep::objects) heap_.graph.emplace();
}

void HeapWalk::on_trace(const nettrace::TraceHeader& trace) {
  heap_.pointer_bytes = trace.pointer_size;
  heap_.pid = trace.process_id;
  heap_.taken = trace.sync_time;
}

void HeapWalk::on_event(const nettrace::Event& event) {
  types_.add(event);
  const bool late = over_ && event.timestamp > *over_;
  if (event.definition.provider == kRuntimeProvider && !late) take_heap_event(event);
}

void HeapWalk::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t /*events*/) {
  // What was dropped is known only later, perhaps once the end of the collection has come.
  if (begun_ && !ended()) dropped_ = true;
}

void HeapWalk::take_heap_event(const nettrace::Event& event) {
  const nettrace::Cursor in(event.payload, event.payload_offset);
  const std::uint32_t id = event.definition.event_id;
  if (id == kGcStart) begin_collection(in, event.timestamp);
  if (id == kGcEnd) end_collection(in, event.timestamp);
  if (std::uint32_t* next = next_of(id); next != nullptr) {
    if (begins_walk(in, *next)) begin_walk(event.timestamp);
    if (!begun_) return;
  }
  if (id == kBulkNode) add_objects(in);
  if (id == kBulkEdge) add_references(in);
  if (!heap_.graph) return;
  if (id == kBulkRootEdge) add_roots(in);
  if (id == kBulkDependentHandle) add_dependent(in);
  if (id == kBulkRootStaticVar) add_statics(in);
}

std::uint32_t* HeapWalk::next_of(std::uint32_t id) {
  if (id == kBulkNode) return &next_objects_;
  if (id == kBulkEdge) return &next_references_;
  if (id == kBulkRootEdge) return &next_roots_;
  if (id == kBulkDependentHandle) return &next_dependents_;
  return nullptr;
}

bool HeapWalk::begins_walk(nettrace::Cursor in, std::uint32_t next) const {
  return in.u32() == 0 && !in.failed() && !over_ && (!begun_ || next > 0);
}

void HeapWalk::begin_collection(nettrace::Cursor in, std::int64_t time) {
  const std::uint32_t number = in.u32();
  const std::uint32_t generation = in.u32();
  const std::uint32_t reason = in.u32();
  const std::uint32_t type = in.u32();
  const bool may_walk = generation == kOldestGeneration && reason == kInduced && type == kNonConcurrent;
  if (in.failed() || !may_walk) return;
  collection(number).begun = time;
  find_end();
}

void HeapWalk::end_collection(nettrace::Cursor in, std::int64_t time) {
  const std::uint32_t number = in.u32();
  if (in.failed()) return;
  collection(number).over = time;
  find_end();
}

HeapWalk::Collection& HeapWalk::collection(std::uint32_t number) {
  for (Collection& known : collections_) {
    if (known.number == number) return known;
  }
  if (collections_.size() == kMaxCollections) collections_.pop_front();
  return collections_.emplace_back(Collection{number, {}, {}});
}

void HeapWalk::begin_walk(std::int64_t time) {
  // Earlier events are the end of a walk for another session.
  begun_ = time;
  next_objects_ = next_references_ = next_roots_ = next_dependents_ = 0;
  expected_references_ = heap_.objects = heap_.bytes = heap_.references = 0;
  heap_.complete = true;
  dropped_ = false;
  types_.forget_objects();
  if (keep_ == Keep::objects && !heap_.graph) heap_.graph.emplace();
  if (!heap_.graph) return;
  held_ = 0;
  for (const heap::StaticField& field : heap_.graph->statics) held_ += sizeof(field) + field.name.size();
  heap_.graph->objects.clear();
  heap_.graph->references.clear();
  heap_.graph->roots.clear();
}

void HeapWalk::find_end() {
  for (const Collection& each : collections_) {
    const bool whole = begun_ && each.begun && each.over;
    if (whole && *each.begun <= *begun_ && *begun_ <= *each.over) over_ = each.over;
  }
}

std::uint32_t HeapWalk::read_count(nettrace::Cursor& in, std::uint32_t& expected) {
  const std::uint32_t number = in.u32();
  const std::uint32_t count = in.u32();
  in.u16();  // The runtime's instance id.
  if (in.failed() || number != expected++) heap_.complete = false;
  return count;
}

std::uint64_t HeapWalk::read_address(nettrace::Cursor& in) const {
  return heap_.pointer_bytes == sizeof(std::uint32_t) ? in.u32() : in.u64();
}

void HeapWalk::add_objects(nettrace::Cursor in) {
  const std::uint32_t count = read_count(in, next_objects_);
  for (std::uint32_t i = 0; i < count; ++i) {
    heap::Object object;
    object.address = read_address(in);
    object.bytes = in.u64();
    const std::uint64_t type = in.u64();
    const std::uint64_t references = in.u64();
    if (in.failed() || references > UINT32_MAX) {
      heap_.complete = false;
      return;
    }
    object.type = types_.find_or_add(type);
    object.references = static_cast<std::uint32_t>(references);
    types_.count(object.type, object.bytes);
    ++heap_.objects;
    heap_.bytes += object.bytes;
    expected_references_ += references;
    if (has_room(sizeof(object))) heap_.graph->objects.push_back(object);
  }
  find_end();
}

void HeapWalk::add_references(nettrace::Cursor in) {
  const std::uint32_t count = read_count(in, next_references_);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t object = read_address(in);
    in.u32();  // The field's id, which runtimes don't fill in.
    if (in.failed()) {
      heap_.complete = false;
      return;
    }
    ++heap_.references;
    if (has_room(sizeof(object))) heap_.graph->references.push_back(object);
  }
}

void HeapWalk::add_roots(nettrace::Cursor in) {
  next_roots_ = in.u32() + 1;
  const std::uint32_t count = in.u32();
  in.u16();  // The runtime's instance id.
  for (std::uint32_t i = 0; i < count; ++i) {
    heap::Root root;
    root.object = read_address(in);
    const std::uint8_t kind = in.u8();
    const std::uint32_t flags = in.u32();
    static_cast<void>(read_address(in));  // Address of the root itself.
    if (in.failed()) return;
    root.kind = kind_of(kind, flags);
    if ((flags & kWeak) == 0 && has_room(sizeof(root))) heap_.graph->roots.push_back(root);
  }
}

void HeapWalk::add_dependent(nettrace::Cursor in) {
  next_dependents_ = in.u32() + 1;
  const std::uint32_t count = in.u32();
  in.u16();  // The runtime's instance id.
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t key = read_address(in);
    const heap::Root root{read_address(in), heap::RootKind::dependent_handle};
    static_cast<void>(read_address(in));  // Address of the handle itself.
    if (in.failed()) return;
    if (key != 0 && has_room(sizeof(root))) heap_.graph->roots.push_back(root);
  }
}

void HeapWalk::add_statics(nettrace::Cursor in) {
  const std::uint32_t count = in.u32();
  in.u64();  // The application domain.
  in.u16();  // The runtime's instance id.
  for (std::uint32_t i = 0; i < count; ++i) {
    heap::StaticField field;
    in.u64();  // Address of the root itself.
    field.object = in.u64();
    const std::uint64_t type = in.u64();
    field.of_thread = (in.u32() & kThreadStatic) != 0;
    field.name = in.utf16();
    if (in.failed()) return;
    field.type = types_.find_or_add(type);
    if (has_room(sizeof(field) + field.name.size())) heap_.graph->statics.push_back(std::move(field));
  }
}

bool HeapWalk::has_room(std::size_t bytes) {
  if (!heap_.graph) return false;
  held_ += bytes;
  if (held_ > kMaxGraphBytes) heap_.graph.reset();
  return heap_.graph.has_value();
}

heap::Heap HeapWalk::take() {
  if (!ended() || dropped_) heap_.complete = false;
  if (!heap_.complete) heap_.graph.reset();
  heap_.types = types_.take();
  return std::move(heap_);
}

}  // namespace farport::events
