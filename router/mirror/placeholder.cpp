#include "router/mirror/placeholder.hpp"

#include <optional>
#include <tuple>

#include <signal.h>
#include <sys/socket.h>

#include "base/escape.hpp"
#include "base/process_stat.hpp"
#include "router/mirror/placeholder/look.h"

namespace farport::router {
namespace {

using transport::Loop;
using transport::Task;

constexpr char kTried[] = "start a placeholder for";

std::vector<std::string> environment_of(const ProcessLook& look) {
  return {"TMPDIR=" + look.socket_dir, "FARPORT_NAME=" + look.name};
}

/// The message that makes a placeholder process change its look (look.h).
std::string message_of(const ProcessLook& look, const std::string& program) {
  const std::vector<std::string> environment = environment_of(look);
  std::string texts = program + '\0';
  // Each text is cut at its first zero, as in execve(2), so that the rest can't pass for the next one.
  for (const std::string& argument : look.argv) texts.append(argument, 0, argument.find('\0')) += '\0';
  for (const std::string& variable : environment) texts.append(variable, 0, variable.find('\0')) += '\0';
  const Look head{static_cast<unsigned>(texts.size()), static_cast<unsigned>(look.argv.size()),
                  static_cast<unsigned>(environment.size())};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + texts;
}

}  // namespace

Result<void> Placeholder::spawn() {
  program_ = image_.named(file_name_for(look_.name));
  const std::vector<std::string> environment = environment_of(look_);
  std::vector<char*> arguments = transport::pointers_to(look_.argv);
  std::vector<char*> variables = transport::pointers_to(environment);

  ASSIGN_OR_RETURN(auto sockets, make_socket_pair(SOCK_STREAM));
  const transport::Program program{
      program_.path().c_str(), arguments.data(), variables.data(), {-1, sockets.theirs.get(), -1}, true};
  // Deferred: whoever is told may do much.
  ASSIGN_OR_RETURN(process_, transport::Process::start(loop_, program, [this](int) { loop_.defer(*this); }));

  socket_.reset(new uv_pipe_t{});
  uv_pipe_init(loop_.uv(), socket_.get(), 0);
  socket_->data = this;
  const int failed = uv_pipe_open(socket_.get(), sockets.ours.get());
  if (failed != 0) return fail_errno("use", "a socket", -failed);
  // The handle has it now.
  std::ignore = sockets.ours.release();
  return {};
}

void Placeholder::listen() {
  // The process sends a byte for each look that it has taken; the end means that it can't any more.
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(socket_.get()),
      [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(&static_cast<Placeholder*>(handle->data)->said_byte_, 1);
      },
      [](uv_stream_t* stream, ssize_t size, const uv_buf_t*) {
        if (size == 0) return;
        auto* self = static_cast<Placeholder*>(stream->data);
        if (size < 0) {
          uv_read_stop(stream);
        } else {
          self->look_taken();
        }
        self->said_.set();
      });
}

Task<Result<std::unique_ptr<Placeholder>>> Placeholder::start(Loop& loop, PlaceholderImage& image,
                                                              ProcessLook look,
                                                              std::function<void()> on_exit) {
  std::unique_ptr<Placeholder> placeholder(new Placeholder(loop, image, std::move(look)));
  const Result<void> spawned = placeholder->spawn();
  if (!spawned) {
    Error why = spawned.error();
    why.what = kTried;
    why.on = placeholder->look_.name;
    co_return tl::unexpected(std::move(why));
  }

  placeholder->listen();
  co_await placeholder->said_.wait();
  const std::optional<ProcessStat> stat = process_stat(placeholder->pid());
  if (!placeholder->ready_ || !stat) {
    co_return fail(kTried, placeholder->look_.name, "the process ended before it was ready");
  }
  placeholder->start_time_ = stat->start_time;
  placeholder->on_exit_ = std::move(on_exit);
  co_return placeholder;
}

void Placeholder::change(ProcessLook look) {
  wanted_ = std::move(look);
  if (ready_) send_look();
}

void Placeholder::send_look() {
  if (!wanted_) return;
  const ProcessLook before = std::exchange(look_, *std::exchange(wanted_, std::nullopt));
  if (look_ == before) return;
  ready_ = false;
  next_program_ = image_.named(file_name_for(look_.name));
  const std::string message = message_of(look_, next_program_.path_for_itself());
  const uv_buf_t buffer =
      uv_buf_init(const_cast<char*>(message.data()), static_cast<unsigned>(message.size()));
  const int written = uv_try_write(reinterpret_cast<uv_stream_t*>(socket_.get()), &buffer, 1);
  // The socket is empty and has room for any look. If the write fails all the same, start another process.
  if (written != static_cast<int>(message.size())) process_->signal(SIGKILL);
}

void Placeholder::look_taken() {
  if (!next_program_.path().empty()) program_ = std::exchange(next_program_, {});
  ready_ = true;
  send_look();
}

Placeholder::~Placeholder() {
  if (process_ != nullptr && !process_->ended())
    transport::Process::terminate_detached(loop_, std::move(process_), SIGKILL);
}

void Placeholder::end_of_tick() {
  // Moved out, since the call may destroy this object.
  const std::function<void()> on_exit = std::move(on_exit_);
  if (on_exit) on_exit();
}

std::vector<std::string> split_command_line(std::string_view command_line) {
  std::vector<std::string> arguments;
  for (;;) {
    const std::size_t space = command_line.find(' ');
    arguments.emplace_back(command_line.substr(0, space));
    if (space == std::string_view::npos) return arguments;
    command_line.remove_prefix(space + 1);
  }
}

}  // namespace farport::router
