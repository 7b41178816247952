#include "ipc/event_pipe.hpp"

#include <algorithm>

namespace farport::ipc {
namespace {

/// The smallest encoded size of an array element, in bytes: its numbers, and the counts of its strings and
/// arrays.
constexpr std::size_t kSmallestProvider = 8 + 4 + 4 + 4;
constexpr std::size_t kSmallestTracepointSet = 4 + 4;

TracepointConfig read_tracepoints(Reader& in) {
  TracepointConfig config;
  config.default_name = in.optional_string();
  config.sets.resize(in.count(kSmallestTracepointSet));
  for (TracepointSet& set : config.sets) {
    set.name = in.string();
    set.event_ids = in.u32_array();
  }
  return config;
}

void write_tracepoints(Writer& out, const TracepointConfig& config) {
  out.optional_string(config.default_name);
  out.count(config.sets.size());
  for (const TracepointSet& set : config.sets) {
    out.string(set.name);
    out.u32_array(set.event_ids);
  }
}

/// Which fields a command's payload has. The ids of the six commands are consecutive.
struct Layout {
  Layout(Command command, SessionType type)
      : session_type(command >= kCollectTracing5),
        streaming(type == SessionType::streaming),
        rundown(command == kCollectTracing2 || command == kCollectTracing3),
        rundown_keyword(command >= kCollectTracing4),
        stackwalk(command >= kCollectTracing3 && streaming),
        event_filter(command >= kCollectTracing5),
        buffer_mode(command == kCollectTracing6 && streaming) {}

  bool session_type;
  bool streaming;
  bool rundown;
  bool rundown_keyword;
  bool stackwalk;
  bool event_filter;
  bool buffer_mode;
};

Provider read_provider(Reader& in, const Layout& layout) {
  Provider provider;
  provider.keywords = in.u64();
  provider.level = in.u32();
  provider.name = in.string();
  provider.filter = in.optional_string();
  if (layout.event_filter) {
    provider.event_filter.enable = in.boolean();
    provider.event_filter.event_ids = in.u32_array();
    if (!layout.streaming) provider.tracepoints = read_tracepoints(in);
  }
  return provider;
}

void write_provider(Writer& out, const Provider& provider, const Layout& layout) {
  out.u64(provider.keywords);
  out.u32(provider.level);
  out.string(provider.name);
  out.optional_string(provider.filter);
  if (layout.event_filter) {
    out.boolean(provider.event_filter.enable);
    out.u32_array(provider.event_filter.event_ids);
    if (!layout.streaming) write_tracepoints(out, provider.tracepoints);
  }
}

/// A number with two valid values, 0 and 1.
template <typename Choice>
Choice read_choice(Reader& in, const std::string& what) {
  const std::uint32_t value = in.u32();
  if (value > 1) in.reject("unknown " + what + " " + std::to_string(value));
  return static_cast<Choice>(value & 1);
}

}  // namespace

bool is_collect_tracing(Command command) {
  return command >= kCollectTracing && command <= kCollectTracing6;
}

void change_buffer_size(Command command, std::span<std::byte> payload, std::uint32_t megabytes) {
  Writer number;
  number.u32(megabytes);
  const Bytes bytes = number.take();
  // The session type comes before it.
  const std::size_t at = command >= kCollectTracing5 ? sizeof(std::uint32_t) : 0;
  if (payload.size() >= at + bytes.size())
    std::ranges::copy(bytes, payload.begin() + static_cast<std::ptrdiff_t>(at));
}

Result<CollectTracing> CollectTracing::decode(Command command, BytesView payload) {
  if (!is_collect_tracing(command)) return fail("decode", describe(command), "it does not start a session");
  const std::string name = describe(command);
  Reader in(payload, name);
  CollectTracing session;
  session.version = command;
  if (command >= kCollectTracing5) session.session_type = read_choice<SessionType>(in, "session type");
  const Layout layout(command, session.session_type);
  if (layout.streaming) {
    session.buffer_size_mb = in.u32();
    session.format = in.u32();
  }
  if (layout.rundown) session.rundown = in.boolean();
  if (layout.rundown_keyword) {
    session.rundown_keyword = in.u64();
    session.rundown = session.rundown_keyword != 0;
  }
  if (layout.stackwalk) session.stackwalk = in.boolean();
  const std::uint32_t providers = in.count(kSmallestProvider);
  for (std::uint32_t i = 0; i < providers && !in.failed(); ++i) {
    session.providers.push_back(read_provider(in, layout));
  }
  if (layout.buffer_mode) session.buffer_mode = read_choice<BufferMode>(in, "buffer mode");
  return in.whole_result(std::move(session));
}

Bytes CollectTracing::encode() const {
  const Layout layout(version, session_type);
  Writer out;
  if (layout.session_type) out.u32(static_cast<std::uint32_t>(session_type));
  if (layout.streaming) {
    out.u32(buffer_size_mb);
    out.u32(format);
  }
  if (layout.rundown) out.boolean(rundown);
  if (layout.rundown_keyword) out.u64(rundown_keyword);
  if (layout.stackwalk) out.boolean(stackwalk);
  out.count(providers.size());
  for (const Provider& provider : providers) write_provider(out, provider, layout);
  if (layout.buffer_mode) out.u32(static_cast<std::uint32_t>(buffer_mode));
  return out.take();
}

std::optional<CollectTracing> CollectTracing::older() const {
  if (version <= kCollectTracing2 || session_type != SessionType::streaming) return std::nullopt;
  CollectTracing made = *this;
  made.version = version > kCollectTracing3 && !stackwalk ? kCollectTracing3 : kCollectTracing2;
  return made;
}

Result<SessionId> SessionId::decode(BytesView payload) {
  Reader in(payload, "a session's id");
  const SessionId id{in.u64()};
  return in.result(id);
}

Bytes SessionId::encode() const {
  Writer out;
  out.u64(value);
  return out.take();
}

}  // namespace farport::ipc
