#include "router/mirror.hpp"

#include <algorithm>

namespace farport::router {

using transport::Task;

namespace {

constexpr std::string_view kProgramsPrefix = "farport-programs-";

}  // namespace

Mirror::Mirror(transport::Loop& loop, Log log, MirrorSettings settings)
    : loop_(loop), log_(std::move(log)), settings_(std::move(settings)), changed_(loop), tasks_(loop) {}

Task<Result<void>> Mirror::start() {
  if (!has_room_for_sockets(settings_.socket_directory)) {
    co_return fail("make sockets in", settings_.socket_directory,
                   "its path is too long: a socket's whole path has 107 bytes at most",
                   "choose a shorter one with --socket-dir");
  }
  auto files = LocalFiles::claim(settings_.socket_directory, log_);
  if (!files) co_return tl::unexpected(files.error());
  files_ = std::move(*files);
  // Without it, placeholders have no names of their own for tools to show.
  auto programs = OwnedDirectory::make(settings_.socket_directory, kProgramsPrefix);
  if (programs) programs_ = std::move(*programs);
  if (!programs) log_->info("{}", programs.error().message());
  auto image = PlaceholderImage::make(programs_ == nullptr ? std::string() : programs_->path());
  if (!image) co_return tl::unexpected(image.error());
  image_ = std::make_unique<PlaceholderImage>(std::move(*image));
  services_ = std::make_unique<MirrorServices>(
      MirrorServices{loop_, log_, *files_, buffers_, *image_, settings_.session, [this] { changed_.set(); }});
  for (const MirroredAgent& agent : settings_.agents) {
    // A name with many addresses means every address, as a headless service has them.
    const auto addresses = co_await transport::resolve(loop_, agent.address.host, agent.address.port);
    if (!addresses) co_return tl::unexpected(addresses.error());
    const std::string name =
        agent.address.server_name.empty() ? agent.address.host : agent.address.server_name;
    const MirrorChoice choice{agent.select, settings_.sockets, settings_.tools, agent.remote};
    for (const transport::Address& address : *addresses) {
      links_.push_back(std::make_unique<AgentLink>(*services_, choice, AgentDialler::Target{address, name},
                                                   watch_of(agent.credentials)));
    }
  }
  for (const auto& [first, watch] : credentials_) tasks_.spawn(watch->run());
  for (const auto& link : links_) tasks_.spawn(link->run());
  co_return Result<void>{};
}

CredentialWatch& Mirror::watch_of(const auth::TlsCredentialsPtr& credentials) {
  auto& watch = credentials_[credentials.get()];
  if (watch == nullptr) watch = std::make_unique<CredentialWatch>(loop_, log_, credentials);
  return *watch;
}

void Mirror::reload_certificates() {
  for (const auto& [first, watch] : credentials_) watch->reload();
}

Task<Result<void>> Mirror::settled() {
  const auto all_settled = [this] {
    return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->settled(); });
  };
  while (!all_settled() && !stopped_settling_) co_await changed_.wait();
  for (const auto& link : links_) {
    if (link->settled() && link->last_error().empty()) co_return Result<void>{};
  }
  const std::string why = links_.empty() ? "none is named" : links_.front()->last_error();
  co_return fail("reach", "any agent", why.empty() ? "none has answered in time" : why);
}

Task<void> Mirror::leave() {
  tasks_.clear();
  for (const auto& link : links_) tasks_.spawn(link->leave());
  co_await tasks_.idle();
}

void Mirror::stop_settling() {
  stopped_settling_ = true;
  changed_.set();
}

std::vector<MirrorRow> Mirror::rows() const {
  std::vector<MirrorRow> rows;
  for (const auto& link : links_) {
    for (const MirroredRuntime* mirrored : link->runtimes()) {
      rows.push_back({mirrored->runtime(), link->address(), link->remote(), mirrored->local_pid(),
                      mirrored->socket(), mirrored->active(), mirrored->dump(), link->connected(),
                      link->breaks()});
    }
  }
  return rows;
}

std::vector<LinkRow> Mirror::links() const {
  std::vector<LinkRow> rows;
  for (const auto& link : links_) rows.push_back({link->address(), link->connected(), link->last_error()});
  return rows;
}

Result<MirrorRow> Mirror::choose(std::string_view wanted, std::string_view remote) const {
  std::vector<MirrorRow> all = rows();
  if (!remote.empty()) std::erase_if(all, [&](const MirrorRow& row) { return row.remote != remote; });
  std::vector<const Runtime*> among;
  for (const MirrorRow& row : all) among.push_back(&row.runtime);
  const auto chosen = choose_runtime(wanted, among);
  if (!chosen) return tl::unexpected(chosen.error());
  return std::move(all[*chosen]);
}

Result<void> Mirror::dial(const MirrorRow& row, const std::string& tool) {
  for (const auto& link : links_) {
    MirroredRuntime* const mirrored = link->address() == row.agent ? link->find(row.runtime.id) : nullptr;
    if (mirrored != nullptr) return mirrored->dial(tool);
  }
  return fail("offer", row.runtime.name, "it has ended");
}

}  // namespace farport::router
