#include "cli/terminal/terminal_keys.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "transport/child_process.hpp"

namespace farport::cli {

using transport::Task;

namespace {

/// The key for an escape sequence (ECMA-48, and xterm's application mode); '\0' for others.
char key_of(std::string_view sequence) {
  struct Known {
    std::string_view sequence;
    char key;
  };
  constexpr std::array<Known, 6> kKnown{{{"\x1b[A", 'k'},
                                         {"\x1bOA", 'k'},
                                         {"\x1b[B", 'j'},
                                         {"\x1bOB", 'j'},
                                         {"\x1b[5~", 'b'},
                                         {"\x1b[6~", ' '}}};
  for (const Known& each : kKnown) {
    if (sequence.starts_with(each.sequence)) return each.key;
  }
  return '\0';
}

}  // namespace

TerminalKeys::TerminalKeys(transport::Loop& loop) {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  // Opened again, since O_NONBLOCK applies to the open file, which the shell shares.
  UniqueFd terminal(::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!terminal) return;
  keys_ = std::make_unique<transport::FdStream>(loop, std::move(terminal), "the terminal");
  continued();
}

TerminalKeys::~TerminalKeys() {
  if (keys_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void TerminalKeys::continued() {
  if (!keys_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  termios single = before_;
  single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  single.c_cc[VMIN] = 1;
  single.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &single);
}

Task<void> TerminalKeys::read(std::function<void(char)> on_key) {
  if (!keys_) co_return;
  std::array<std::byte, 16> typed{};
  for (;;) {
    const transport::Io got = co_await keys_->read(typed);
    if (got.status != transport::IoStatus::ok) co_return;
    const std::string_view text(reinterpret_cast<const char*>(typed.data()), got.bytes);
    if (!text.starts_with('\x1b')) {
      for (const char key : text) on_key(key);
    } else if (const char key = key_of(text); key != '\0') {
      on_key(key);
    }
  }
}

HidingTerminal::HidingTerminal() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  if (!terminal_ || ::tcgetattr(terminal_.get(), &before_) != 0) return;
  termios hiding = before_;
  hiding.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  changed_ = ::tcsetattr(terminal_.get(), TCSANOW, &hiding) == 0;
}

HidingTerminal::~HidingTerminal() {
  if (changed_) ::tcsetattr(terminal_.get(), TCSANOW, &before_);
}

namespace {

/// While it exists, signals that end a process wait in a descriptor. A handler would miss one that comes
/// between a look at its flag and a read.
class WaitingSignals {
 public:
  WaitingSignals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    for (const int each : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
      if (!transport::is_ignored(each)) ::sigaddset(&ending, each);
    }
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
    signals_ = UniqueFd(::signalfd(-1, &ending, SFD_CLOEXEC));
  }
  WaitingSignals(const WaitingSignals&) = delete;
  WaitingSignals& operator=(const WaitingSignals&) = delete;
  ~WaitingSignals() {
    // It has been taken for what it is: it must not end the process once it is let through.
    pollfd look{signals_.get(), POLLIN, 0};
    signalfd_siginfo taken{};
    while (::poll(&look, 1, 0) == 1 && ::read(signals_.get(), &taken, sizeof taken) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  [[nodiscard]] int fd() const { return signals_.get(); }

 private:
  sigset_t before_{};
  UniqueFd signals_;
};

}  // namespace

Result<std::string_view> HidingTerminal::ask(const std::string& prompt, std::span<char> into) {
  constexpr const char* kRead = "read from";
  constexpr const char* kTerminal = "the terminal";
  const WaitingSignals signals;
  const auto print = [this](std::string_view text) {
    return ::write(terminal_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  };
  if (!print(prompt)) return fail_errno(kRead, kTerminal, errno);
  std::size_t size = 0;
  for (bool whole = false; !whole;) {
    std::array<pollfd, 2> waits{{{terminal_.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR)
      return fail_errno(kRead, kTerminal, errno);
    if (waits[1].revents != 0) {
      print("\n");
      return fail_errno(kRead, kTerminal, EINTR);
    }
    if (waits[0].revents == 0) continue;
    // One by one, so that what is typed after the line stays where it is.
    char typed = '\0';
    const ssize_t got = ::read(terminal_.get(), &typed, 1);
    if (got < 0 && errno != EINTR) return fail_errno(kRead, kTerminal, errno);
    whole = got == 0 || (got == 1 && typed == '\n');
    if (got == 1 && !whole && size < into.size()) into[size++] = typed;
  }
  print("\n");
  return std::string_view(into.data(), size);
}

namespace {

using transport::Milliseconds;

constexpr Milliseconds kFirstLook{100};
constexpr Milliseconds kLastLook{3000};

}  // namespace

TerminalWatch::TerminalWatch(transport::Loop& loop, std::function<void()> on_gone)
    : loop_(loop), on_gone_(std::move(on_gone)) {
  if (transport::is_ignored(SIGHUP)) return;
  terminal_ = UniqueFd(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

void TerminalWatch::hung_up() {
  const bool looking = look_ && !look_->expired();
  if (terminal_.get() >= 0 && !looking) look_in(kFirstLook);
}

void TerminalWatch::look_in(Milliseconds pause) {
  // Replacing look_ may destroy this callback with its captures.
  look_.emplace(loop_, pause, [this, pause] { looked_after(pause); });
}

void TerminalWatch::looked_after(Milliseconds pause) {
  if (::tcgetsid(terminal_.get()) >= 0) {
    if (pause < kLastLook) look_in(3 * pause);
    return;
  }
  terminal_.reset();
  on_gone_();
}

}  // namespace farport::cli
