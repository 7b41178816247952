// What commands make of a heap's events: a table or JSON on standard output, or a file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "cli/output/reader_sink.hpp"
#include "heap/gcdump.hpp"
#include "heap/heap.hpp"
#include "router/readers/answers.hpp"

namespace farport::cli {

/// What is to be made of it.
struct HeapForm {
  std::string output{};   ///< The file: .gcdump for all objects, .json for the types; empty if there is none.
  std::size_t top = 0;    ///< How many types are printed; 0: the usual ones, and none beside a file.
  bool json = false;      ///< On standard output.
  std::string unended{};  ///< What to do if the runtime has not reported all of it.
};

/// Creates the file, before anything is asked for; null if there is none. Errors: the name's ending is
/// unknown, or the file exists (and `force` is false) or can't be created.
[[nodiscard]] Result<std::unique_ptr<OutputFile>> open_heap_output(const std::string& path, bool force);

/// Makes it once the walk is complete: the text for standard output, and the file.
class HeapLines final : public router::HeapFormatter {
 public:
  /// Takes the next piece of the file; an empty one ends it.
  using TakeFile = std::function<Result<void>(std::string_view piece)>;
  /// `width`: of a table, in columns; 0: no limit.
  HeapLines(HeapForm form, std::size_t width, heap::Origin origin, TakeFile take_file);

  Result<std::string> take_end() override;

 private:
  HeapForm form_;
  std::size_t width_;
  heap::Origin origin_;
  TakeFile take_file_;
};

/// Has a reader of this form make it. `readers` must do heap_reader_work().
class HeapSink final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override;
  /// Begins to read events that were recorded before, into this file.
  [[nodiscard]] Result<void> begin_kept(const router::Runtime& runtime, const std::string& output);
};

/// What the readers for a HeapSink do.
[[nodiscard]] router::ReaderWork heap_reader_work(HeapForm form, std::size_t width);

}  // namespace farport::cli
