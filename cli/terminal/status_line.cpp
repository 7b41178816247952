#include "cli/terminal/status_line.hpp"

#include <cstdio>

#include <unistd.h>

#include "cli/terminal/text.hpp"

namespace farport::cli {

StatusLine::StatusLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void StatusLine::draw(const std::string& text) {
  if (!terminal_) return;
  // A line that is wrapped could not be taken back.
  std::fprintf(stderr, "\r\x1b[K%s", cut(escape(text), terminal_size(STDERR_FILENO).columns - 1).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::interrupted(const std::string& why) {
  if (told_ == why) return;
  say(why + "; dialling again");
  told_ = why;
}

void StatusLine::say(const std::string& text) {
  end();
  print_message(text);
}

void StatusLine::end() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace farport::cli
