#include "cli/profile_output.hpp"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "cli/output_path.hpp"
#include "cli/text.hpp"
#include "profile/form.hpp"
#include "profile/top.hpp"

namespace farport::cli {
namespace {

Result<void> print_piece(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size()) return {};
  return fail_errno("write to", "standard output", errno);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> open_output(const ProfileOutput& output) {
  if (output.path.empty()) return nullptr;
  const auto form = profile::form_of(output.path);
  if (!form) return tl::unexpected(form.error());
  return OutputFile::create("the profile", output_path(output.path, {}, {}),
                            output.force ? OutputFile::Existing::replace : OutputFile::Existing::refuse,
                            OutputFile::Named::once_kept);
}

profile::Keep keep_for(const ProfileOutput& output) {
  const auto form = profile::form_of(output.path);
  return form ? profile::keep_for(*form) : profile::Keep::counts;
}

Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output,
                          std::unique_ptr<OutputFile> file) {
  const bool is_for_people = file == nullptr && ::isatty(STDOUT_FILENO) != 0;
  const std::uint32_t rows = output.top == 0 && is_for_people ? kUsualRows : output.top;
  if (rows > 0) {
    const Result<void> printed = print_piece(profile::top_table(taken, rows));
    if (!printed || file == nullptr) return printed;
  }
  if (file == nullptr) return profile::write_profile(taken, profile::Form::folded, print_piece);
  const auto form = profile::form_of(output.path);
  if (!form) return tl::unexpected(form.error());
  const auto to_file = [&](std::string_view piece) { return file->append(std::as_bytes(std::span(piece))); };
  Result<void> written = profile::write_profile(taken, *form, to_file);
  if (!written) return written;
  Result<void> kept = file->keep();
  if (!kept) return kept;
  const std::string& path = file->path();
  std::printf("%s\n", ::isatty(STDOUT_FILENO) != 0 ? escape(path).c_str() : path.c_str());
  return {};
}

}  // namespace farport::cli
