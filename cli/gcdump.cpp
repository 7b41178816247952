// farport gcdump: what is in a remote application's heap.
#include "cli/commands.hpp"
#include "cli/heap_output.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "events/heap_walk.hpp"
#include "nettrace/reader.hpp"
#include "router/wanted/recordings.hpp"

namespace farport::cli {
namespace {

using KeptOfHeap = events::HeapWalk::Keep;

/// Reads the walk as it comes.
class HeapSink final : public RecordingSink {
 public:
  explicit HeapSink(KeptOfHeap keep) : walk_(keep), reader_(walk_) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    origin_ = {runtime.host, runtime.name};
    return router::wanted_heap(runtime.version);
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    co_return reader_.feed(std::span(piece->bytes).first(piece->size));
  }
  [[nodiscard]] bool has_enough() const override { return walk_.ended(); }

  [[nodiscard]] const heap::Origin& origin() const { return origin_; }
  /// What has come, once nothing more does. Errors: the runtime has not told it to its end.
  [[nodiscard]] Result<heap::Heap> take_heap() {
    if (walk_.ended()) return walk_.take();
    return fail(
        "look into the heap of", origin_.process,
        walk_.begun() ? "the runtime has not come to the end of it" : "the runtime tells nothing of it",
        walk_.begun() ? "give it more time with --timeout"
                      : "give it more time with --timeout; NativeAOT of .NET 8 never does");
  }

 private:
  heap::Origin origin_;
  events::HeapWalk walk_;
  nettrace::Reader reader_;
};

/// Why there can't be a file of the objects; success where there can.
Result<void> check_objects(const heap::Heap& heap, const std::string& path) {
  if (heap.graph) return {};
  return fail("write the heap to", path,
              heap.complete ? "there are too many objects in it" : "parts of it have got lost on the way",
              "leave --output out: the types are counted all the same");
}

void warn_of_gaps(const heap::Heap& heap) {
  if (!heap.complete)
    print_message(
        "parts of the heap have got lost on the way, since the runtime told it faster than it was read");
  std::size_t named = 0;
  std::size_t nameless = 0;
  for (const heap::Type& type : heap.types) {
    if (type.objects > 0) ++(type.name.empty() ? nameless : named);
  }
  if (nameless == 0) return;
  print_message(named > 0 ? "some types have no names: another session that asks for types has been told them"
                          : "types have no names: this runtime tells none, as NativeAOT does not");
}

}  // namespace

int gcdump(const config::GcdumpSettings& settings) {
  auto file = open_output(settings);
  if (!file) return report_output(file.error());
  transport::Loop loop;
  HeapSink sink(wants_objects(settings) ? KeptOfHeap::objects : KeptOfHeap::types);
  const int code = record(settings, sink, loop, Recorder::Progress::shown);
  if (code != kSuccess) return code;
  auto heap = sink.take_heap();
  if (!heap) return report(heap.error());
  warn_of_gaps(*heap);
  if (wants_objects(settings)) {
    if (const auto there = check_objects(*heap, settings.output); !there) return report(there.error());
  }
  const auto written = write_output(std::move(*heap), sink.origin(), settings, std::move(*file));
  return written ? kSuccess : report(written.error());
}

}  // namespace farport::cli
