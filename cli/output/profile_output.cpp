#include "cli/output/profile_output.hpp"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "cli/output/output.hpp"
#include "profile/profile.hpp"

namespace farport::cli {
namespace {

Result<void> print_piece(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size()) return {};
  return fail_errno("write to", "standard output", errno);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> open_output(const ProfileOutput& output) {
  if (output.path.empty()) return nullptr;
  RETURN_IF_ERROR(profile::form_of(output.path));
  return OutputFile::create("the profile", output_path(output.path, {}, {}),
                            output.force ? OutputFile::Existing::replace : OutputFile::Existing::refuse,
                            OutputFile::Named::on_commit);
}

profile::Keep keep_for(const ProfileOutput& output) {
  const auto form = profile::form_of(output.path);
  return form ? profile::keep_for(*form) : profile::Keep::counts;
}

std::uint32_t rows_for(const ProfileOutput& output) {
  const bool is_for_people = output.path.empty() && ::isatty(STDOUT_FILENO) != 0;
  return output.top == 0 && is_for_people ? kUsualRows : output.top;
}

Result<void> render_file(const profile::Profile& taken, const ProfileOutput& output,
                         const profile::Sink& file) {
  ASSIGN_OR_RETURN(const auto form, profile::form_of(output.path));
  return profile::write_profile(taken, form, file);
}

Result<void> render_lines(const profile::Profile& taken, const ProfileOutput& output, std::uint32_t rows,
                          const profile::Sink& lines) {
  if (rows > 0) return lines(profile::top_table(taken, rows));
  return output.path.empty() ? profile::write_profile(taken, profile::Form::folded, lines) : Result<void>();
}

Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output,
                          std::unique_ptr<OutputFile> file) {
  if (file != nullptr) {
    Result<void> written = render_file(taken, output, [&file](std::string_view piece) {
      return file->append(std::as_bytes(std::span(piece)));
    });
    if (!written) return written;
  }
  RETURN_IF_ERROR(render_lines(taken, output, rows_for(output), print_piece));
  return keep_output(file.get());
}

}  // namespace farport::cli
