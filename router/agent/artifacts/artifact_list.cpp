#include "router/agent/artifacts/artifact_list.hpp"

#include <sys/stat.h>

#include "base/files.hpp"

namespace farport::router {
namespace {

/// What one takes besides its text: what decides who may have it, and its places in the maps.
constexpr std::uint64_t kEntryBytes = 2048;

std::shared_ptr<const ListedArtifact> listed(const Artifact& artifact) {
  ListedArtifact made;
  made.about.id = artifact.id;
  made.about.permissions = artifact.permissions;
  made.about.owner = artifact.owner;
  made.about.runtime.name = artifact.runtime.name;
  made.about.runtime.command_line = artifact.runtime.command_line;
  made.about.runtime.pid = artifact.runtime.pid;
  made.about.runtime.kernel_pid = artifact.runtime.kernel_pid;
  made.about.runtime.user = artifact.runtime.user;
  made.text = to_json(artifact);
  return std::make_shared<const ListedArtifact>(std::move(made));
}

}  // namespace

std::shared_ptr<const ListedArtifacts> ArtifactList::read() {
  std::map<std::string, Known, std::less<>> now;
  const auto all = std::make_shared<ListedArtifacts>();
  grows_ = false;
  bytes_ = 0;
  for (const std::string& name : entries_of(of_->path())) {
    const auto id = Artifacts::id_of_description(name);
    struct stat found {};
    if (!id || ::lstat((of_->path() + "/" + name).c_str(), &found) != 0) continue;
    const Version version{found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    const auto before = known_.find(*id);
    Known known;
    if (before != known_.end() && before->second.version == version && !before->second.under_way) {
      known = before->second;
    } else {
      const auto artifact = of_->find(*id);
      if (!artifact) continue;
      known = {version, artifact->state == Artifact::State::under_way, listed(*artifact)};
    }
    grows_ = grows_ || known.under_way;
    bytes_ += kEntryBytes + known.listed->text.size();
    all->emplace(*id, known.listed);
    now.emplace(*id, std::move(known));
  }
  known_ = std::move(now);
  return all;
}

}  // namespace farport::router
