#include "heap/gcdump.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace farport::heap {
namespace {

constexpr std::string_view kSignature = "!FastSerialization.1";

}  // namespace

Serializer::Serializer(Sink sink) : sink_(std::move(sink)) {
  put_text(kSignature);
}

void Serializer::put_text(std::string_view text) {
  // The count of UTF-16 units, then each unit encoded separately as in UTF-8.
  const std::u16string units = to_utf16(text);
  put_u32(static_cast<std::uint32_t>(units.size()));
  for (const char16_t unit : units) {
    if (unit < 0x80) {
      put_u8(static_cast<std::uint8_t>(unit));
      continue;
    }
    if (unit < 0x800) {
      put_u8(static_cast<std::uint8_t>(0xC0 | unit >> 6));
    } else {
      put_u8(static_cast<std::uint8_t>(0xE0 | unit >> 12));
      put_u8(static_cast<std::uint8_t>(0x80 | (unit >> 6 & 0x3F)));
    }
    put_u8(static_cast<std::uint8_t>(0x80 | (unit & 0x3F)));
  }
}

void Serializer::begin_object(std::string_view type, std::uint32_t version, std::uint32_t least_reader) {
  put_tag(Tag::begin_object);
  put_tag(Tag::begin_object);
  put_tag(Tag::null_reference);  // The type of types.
  put_u32(version);
  put_u32(least_reader);
  put_text(type);
  end_object();
}

void Serializer::put_skippable_null() {
  put_tag(Tag::skip_region);
  put_u32(static_cast<std::uint32_t>(region_ends_.size()));
  put_tag(Tag::null_reference);
  region_ends_.push_back(place());
}

Result<void> Serializer::finish() {
  put_tag(Tag::end_object);  // Ends the list of objects.
  const std::uint32_t table = place();
  put_u32(static_cast<std::uint32_t>(region_ends_.size()));
  for (const std::uint32_t end : region_ends_) put_u32(end);
  const std::uint32_t trailer = place();
  put_u32(table);
  put_u32(trailer);
  flush();
  return state_;
}

void Serializer::flush() {
  handed_on_ += pending_.size();
  if (good() && handed_on_ > UINT32_MAX)
    state_ = fail("write the heap", "", "it takes more than 4 GiB in this form");
  if (good() && !pending_.empty()) state_ = sink_(pending_);
  pending_.clear();
}

namespace {

/// Versions of the file's two objects (GCHeapDump.cs and Graph.cs in PerfView's repository).
constexpr std::uint32_t kDumpVersion = 10;
constexpr std::uint32_t kDumpReader = 8;
constexpr std::uint32_t kGraphVersion = 1;
constexpr std::uint32_t kGraphReader = 0;
constexpr std::uint32_t kOne = 0x3F800000;  ///< As a float.
constexpr std::uint64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

/// An address that no object has.
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// The children of a node that is no object: a kind of root, or a static field.
using Children = std::vector<std::uint32_t>;

/// Limit for names of static fields, since each includes its type's name, which may have any length.
constexpr std::size_t kMaxFieldNameBytes = std::size_t{16} << 20;

/// A type in the file: the unused one, a type of the heap, or the type of a root node.
struct FileType {
  std::string name;          ///< Used only if `of` is null.
  const Type* of = nullptr;  ///< The heap's type, if it is one.
  const char* suffix = "";   ///< Tells the size class of its objects.
  std::uint32_t bytes = 0;   ///< Default object size: that of the first object.
};

/// The nodes of the file. From here on objects are identified by index.
class Nodes {
 public:
  explicit Nodes(Heap heap) : heap_(std::move(heap)) {
    resolve_references();
    make_types();
    add_roots();
  }

  [[nodiscard]] const Heap& heap() const { return heap_; }
  [[nodiscard]] const Graph& graph() const { return *heap_.graph; }
  [[nodiscard]] const std::vector<FileType>& types() const { return types_; }
  [[nodiscard]] std::size_t size() const { return graph().objects.size() + roots_.size(); }
  /// The node to which all roots are attached.
  [[nodiscard]] std::uint32_t root() const { return static_cast<std::uint32_t>(size() - 1); }

  /// Writes each node to `to`; calls `begin` at the start of each.
  template <typename Bytes, typename Begin>
  void put(Bytes& to, Begin begin) const;

 private:
  void resolve_references();
  void make_types();
  void add_large_type(const Object& object);
  /// The index of the object's type among the file's types.
  [[nodiscard]] std::uint32_t type_of(const Object& object) const;
  void add_roots();
  [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const;
  std::uint32_t add_root_node(std::string name, Children children);
  void add_statics(Children& to, bool of_threads);

  Heap heap_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_address_;
  /// The unused type, the heap's types, those of its large objects, then one for each root node.
  std::vector<FileType> types_;
  std::map<std::pair<TypeId, std::size_t>, std::uint32_t> large_types_;  ///< By type and size class.
  std::uint32_t first_root_type_ = 0;
  std::vector<Children> roots_;
  std::size_t field_names_ = 0;
};

/// A number in groups of seven bits, the first of which includes the sign (Node.WriteCompressedInt in
/// Graph.cs).
template <typename Bytes>
void put_compressed(Bytes& to, std::int64_t value) {
  int groups = 1;
  while (groups < 5 && (value >> (7 * groups - 1)) != (value < 0 ? -1 : 0)) ++groups;
  for (int group = groups - 1; group >= 0; --group) {
    const auto bits = static_cast<std::uint8_t>(value >> (7 * group) & 0x7F);
    to.put_u8(group == 0 ? bits : bits | 0x80);
  }
}

/// Counts the bytes that would be written.
struct ByteCounter {
  std::uint64_t bytes = 0;
  void put_u8(std::uint8_t /*value*/) { ++bytes; }
};

std::uint32_t size_of(const Object& object) {
  return static_cast<std::uint32_t>(std::min(object.bytes, kMaxInt));
}

struct SizeClass {
  std::uint32_t below;  ///< In bytes.
  const char* suffix;
};

/// Like dotnet-gcdump, gives large objects separate types by size class (DotNetHeapDumpGraphReader.cs in
/// dotnet/diagnostics, GetTypeIndex and GetObjectSizeSuffix). So an array of a megabyte is not hidden among
/// thousands of small ones.
constexpr std::uint32_t kMaxSmall = 1000;
constexpr std::array<SizeClass, 6> kSizeClasses{{{10'000, " (Bytes > 1K)"},
                                                 {100'000, " (Bytes > 10K)"},
                                                 {1'000'000, " (Bytes > 100K)"},
                                                 {10'000'000, " (Bytes > 1M)"},
                                                 {100'000'000, " (Bytes > 10M)"},
                                                 {UINT32_MAX, " (Bytes > 100M)"}}};

/// The size class of a large object.
std::size_t size_class_of(std::uint32_t bytes) {
  std::size_t at = 0;
  while (bytes >= kSizeClasses[at].below) ++at;
  return at;
}

template <typename Bytes, typename Begin>
void Nodes::put(Bytes& to, Begin begin) const {
  std::int64_t at = 0;
  auto reference = graph().references.begin();
  for (const Object& object : graph().objects) {
    begin();
    const std::uint32_t type = type_of(object);
    const bool usual = size_of(object) == types_[type].bytes;
    put_compressed(to, std::int64_t{type} << 1 | (usual ? 0 : 1));
    if (!usual) put_compressed(to, size_of(object));
    const auto end = reference + object.references;
    put_compressed(to, object.references - std::count(reference, end, kNowhere));
    for (; reference != end; ++reference) {
      if (*reference != kNowhere) put_compressed(to, static_cast<std::int64_t>(*reference) - at);
    }
    ++at;
  }
  std::int64_t type = first_root_type_;
  for (const Children& children : roots_) {
    begin();
    put_compressed(to, type++ << 1);
    put_compressed(to, static_cast<std::int64_t>(children.size()));
    for (const std::uint32_t child : children) put_compressed(to, child - at);
    ++at;
  }
}

std::uint64_t Nodes::place_of(std::uint64_t address) const {
  const auto found = std::lower_bound(by_address_.begin(), by_address_.end(), std::pair(address, 0U));
  return found != by_address_.end() && found->first == address ? found->second : kNowhere;
}

void Nodes::resolve_references() {
  by_address_.reserve(graph().objects.size());
  std::uint32_t place = 0;
  for (const Object& object : graph().objects) by_address_.emplace_back(object.address, place++);
  std::sort(by_address_.begin(), by_address_.end());
  for (std::uint64_t& reference : heap_.graph->references) reference = place_of(reference);
}

void Nodes::make_types() {
  types_.reserve(heap_.types.size() + 1);
  types_.push_back({"UNDEFINED"});
  for (const Type& type : heap_.types) types_.push_back({{}, &type});
  for (const Object& object : graph().objects) {
    if (size_of(object) > kMaxSmall) add_large_type(object);
    std::uint32_t& bytes = types_[type_of(object)].bytes;
    if (bytes == 0) bytes = size_of(object);
  }
  first_root_type_ = static_cast<std::uint32_t>(types_.size());
}

void Nodes::add_large_type(const Object& object) {
  const std::size_t size_class = size_class_of(size_of(object));
  const auto place = static_cast<std::uint32_t>(types_.size());
  const bool is_new = large_types_.try_emplace({object.type, size_class}, place).second;
  if (is_new) types_.push_back({{}, &heap_.types[object.type], kSizeClasses[size_class].suffix});
}

std::uint32_t Nodes::type_of(const Object& object) const {
  if (size_of(object) <= kMaxSmall) return object.type + 1;
  return large_types_.at({object.type, size_class_of(size_of(object))});
}

std::uint32_t Nodes::add_root_node(std::string name, Children children) {
  types_.push_back({std::move(name)});
  roots_.push_back(std::move(children));
  return root();
}

/// PerfView's names, in the order of RootKind.
constexpr std::array<const char*, 6> kRootNames{"[local vars]",        "[finalizer Handles]",
                                                "[strong Handles]",    "[pinning Handles]",
                                                "[Dependent Handles]", "[other Handles]"};

void Nodes::add_statics(Children& to, bool of_threads) {
  for (const StaticField& field : graph().statics) {
    const std::uint64_t place = place_of(field.object);
    if (place == kNowhere || field.of_thread != of_threads) continue;
    const auto object = static_cast<std::uint32_t>(place);
    std::string name = "[static var " + label_of(heap_.types[field.type]) + "." + field.name + "]";
    field_names_ += name.size();
    to.push_back(field_names_ > kMaxFieldNameBytes ? object : add_root_node(std::move(name), {object}));
  }
}

void Nodes::add_roots() {
  std::array<Children, kRootNames.size()> kinds;
  for (const Root& root : graph().roots) {
    const std::uint64_t place = place_of(root.object);
    if (place != kNowhere)
      kinds[static_cast<std::size_t>(root.kind)].push_back(static_cast<std::uint32_t>(place));
  }
  Children statics;
  Children of_threads;
  add_statics(statics, false);
  add_statics(of_threads, true);
  Children all{add_root_node("[static vars]", std::move(statics)),
               add_root_node("[thread static vars]", std::move(of_threads))};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    all.push_back(add_root_node(kRootNames[kind], std::move(kinds[kind])));
  add_root_node("[.NET Roots]", std::move(all));
}

Result<void> put_graph(Serializer& file, const Nodes& nodes) {
  file.begin_object("Graphs.MemoryGraph", kGraphVersion, kGraphReader);
  std::uint64_t total = 0;
  for (const Object& object : nodes.graph().objects) total += size_of(object);
  file.put_u64(total);
  file.put_u32(nodes.root());
  file.put_u32(static_cast<std::uint32_t>(nodes.types().size()));
  for (const FileType& type : nodes.types()) {
    file.put_text(type.of == nullptr ? type.name : label_of(*type.of) + type.suffix);
    file.put_u32(type.bytes);
    file.put_text(type.of == nullptr ? std::string_view() : std::string_view(type.of->module));
  }
  // The offset of each node, then the nodes. The first node is no object, since readers treat that offset as
  // a missing node.
  ByteCounter counter{2};
  file.put_u32(static_cast<std::uint32_t>(nodes.size()));
  nodes.put(counter, [&] { file.put_u32(static_cast<std::uint32_t>(counter.bytes)); });
  if (counter.bytes > kMaxInt) return fail("write the heap", "", "there are too many references in it");
  file.put_u32(static_cast<std::uint32_t>(counter.bytes));
  file.put_u8(0);
  file.put_u8(0);
  nodes.put(file, [] {});
  file.put_u32(static_cast<std::uint32_t>(nodes.size()));
  for (const Object& object : nodes.graph().objects) file.put_u64(object.address);
  for (std::size_t at = nodes.graph().objects.size(); at < nodes.size(); ++at) file.put_u64(0);
  file.put_tag(Tag::byte);
  file.put_u8(nodes.heap().pointer_bytes == 8 ? 1 : 0);
  file.end_object();
  return {};
}

/// A DateTime's value: units of 100 ns since the year 1.
std::uint64_t ticks_of(std::int64_t since_1970) {
  constexpr std::int64_t kAt1970 = 621'355'968'000'000'000;
  constexpr std::int64_t kMax = 3'155'378'975'999'999'999;
  const bool known = since_1970 >= -kAt1970 && since_1970 <= kMax - kAt1970;
  return static_cast<std::uint64_t>(known ? kAt1970 + since_1970 : 0);
}

}  // namespace

Result<void> write_gcdump(Heap heap, const Origin& origin, Sink sink) {
  const Nodes nodes(std::move(heap));
  if (nodes.size() > kMaxInt) return fail("write the heap", "", "there are too many objects in it");
  Serializer file(std::move(sink));
  file.begin_object("GCHeapDump", kDumpVersion, kDumpReader);
  RETURN_IF_ERROR(put_graph(file, nodes));
  file.put_u8(nodes.heap().pointer_bytes == 8 ? 1 : 0);
  file.put_u32(kOne);  // Factors for counts and for sizes: no object is left out.
  file.put_u32(kOne);
  file.put_tag(Tag::null_reference);  // A JavaScript heap.
  file.put_tag(Tag::null_reference);  // Segments.
  file.put_no_text();                 // A log.
  file.put_u64(ticks_of(nodes.heap().taken));
  file.put_text(origin.host);
  file.put_text(origin.process);
  file.put_u32(static_cast<std::uint32_t>(nodes.heap().pid));
  file.put_u64(0);  // The process's memory and working set, which are unknown.
  file.put_u64(0);
  file.put_u32(0);            // Factors per type: none.
  file.put_skippable_null();  // COM objects.
  file.put_tag(Tag::text);
  file.put_text("farport");
  file.end_object();
  return file.finish();
}

}  // namespace farport::heap
