#include "router/agent/api/profile_file.hpp"

#include <array>

#include "router/cpu_samples/cpu_samples.hpp"
#include "router/wire/sample_reader.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr std::size_t kPieceBytes = 16 * 1024;
/// Of a runtime that does not answer there are no names.
constexpr transport::Milliseconds kNamesLimit{30'000};
constexpr std::size_t kMostFileBytes = std::size_t{8} << 20;

/// An agent stays small: some ten megabytes of samples and names.
constexpr SampleLimits kLimits{.calls = 1U << 17U,
                               .samples = 1U << 18U,
                               .losses = 1U << 18U,
                               .symbols = 1U << 15U,
                               .text_bytes = 8U << 20U};

struct FormWord {
  std::string_view word;
  profile::Form form;
  const char* content_type;
};
constexpr std::array kWords{
    FormWord{"html", profile::Form::html, "text/html; charset=utf-8"},
    FormWord{"svg", profile::Form::svg, "image/svg+xml"},
    FormWord{"speedscope", profile::Form::speedscope, "application/json"},
    FormWord{"pprof", profile::Form::pprof, "application/octet-stream"},
    FormWord{"perf", profile::Form::perf_script, "text/plain; charset=utf-8"},
    FormWord{"folded", profile::Form::folded, "text/plain; charset=utf-8"},
};

/// What a file is made of, for as long as a thread makes it.
struct Making {
  explicit Making(ProfileFile file) : wanted(std::move(file)) {}

  void make() {
    samples.add_to(made, [this](std::uint64_t address) { return methods.frame_at(address); });
    written = profile::write_profile(made, wanted.form, [this](std::string_view piece) -> Result<void> {
      if (text.size() + piece.size() > kMostFileBytes)
        return fail("make", "the profile's file", "it is larger than an agent may make",
                    "take the samples (without format) and make it where they go");
      text += piece;
      return {};
    });
  }

  ProfileFile wanted;
  CpuSamples samples;
  events::CodeAddresses sampled;
  events::MethodTable methods{sampled};
  profile::Profile made;
  std::string text;
  Result<void> written;
};

Task<Result<void>> read_samples(transport::Stream& from, SampleSink& to) {
  SampleReader reader(to, kLimits);
  std::vector<std::byte> piece(kPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    if (got.status == transport::IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == transport::IoStatus::end) break;
    const Result<void> read = reader.read(std::span(piece).first(got.bytes));
    if (!read) co_return read;
  }
  if (!reader.ended()) co_return fail("read", "the samples", "they have no end");
  co_return Result<void>();
}

}  // namespace

Result<std::optional<ProfileFile>> profile_file(const std::string& word) {
  if (word.empty()) return std::nullopt;
  std::string words;
  for (const FormWord& each : kWords) {
    if (each.word == word) return ProfileFile{each.form, each.content_type};
    words += (words.empty() ? "" : ", ") + std::string(each.word);
  }
  return fail("take the parameter", "format", "there is none of this name", "there are " + words);
}

Task<Result<std::string>> make_profile_file(transport::Loop& loop, transport::Stream& samples,
                                            ProfileFile wanted, RuntimePtr runtime,
                                            std::function<Task<Result<void>>(events::MethodTable&)> names) {
  const auto making = std::make_shared<Making>(std::move(wanted));
  const Result<void> read = co_await read_samples(samples, making->samples);
  if (!read) co_return tl::unexpected(read.error());
  for (const SampledCall& call : making->samples.calls()) making->sampled.add(call.address);
  std::ignore = co_await with_deadline(loop, names(making->methods), kNamesLimit);
  making->made.process = runtime->name;
  making->made.pid = runtime->pid;
  // It may take a while, and everything else goes on meanwhile.
  std::function<void()> work = [making] { making->make(); };
  transport::Offload made(loop, std::move(work));
  co_await made.done();
  if (!making->written) co_return tl::unexpected(making->written.error());
  co_return std::move(making->text);
}

}  // namespace farport::router
