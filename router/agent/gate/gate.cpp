#include "router/agent/gate/gate.hpp"

#include <span>

#include "auth/rules.hpp"
#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "router/wire/content_digest.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {

bool Caller::sees(const Runtime& runtime) const {
  return access && access->sees(traits_of(runtime));
}

std::string identity_key(const Caller& caller) {
  if (!caller.identity) return {};
  if (!caller.acting_for.empty()) return "own " + caller.acting_for;
  const auth::Identity& identity = *caller.identity;
  if (identity.local) return "local " + std::to_string(*identity.local);
  // Names contain no control characters, so one name per line is unambiguous.
  std::string key = identity.common_name.empty() ? "" : "cn " + identity.common_name;
  for (const std::string& unit : identity.organizational_units) key += "\nou " + unit;
  for (const std::string& uri : identity.uris) key += "\nuri " + uri;
  for (const std::string& dns : identity.dns) key += "\ndns " + dns;
  for (const std::string& ip : identity.ips) key += "\nip " + ip;
  return key.empty() ? "serial " + identity.serial : key;
}

std::string owner_of(const Caller& caller) {
  // On another host the same number may be another user's.
  const std::string key = identity_key(caller);
  if (key.empty() || caller.identity->local) return {};
  ContentDigest digest;
  digest.add(std::as_bytes(std::span(key)));
  return digest.end();
}

std::string describe(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "an unknown caller") + " from " +
         caller.address;
}

std::string refusal(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "an unknown caller") +
         " has no role at this agent; give it one there with --allow-cn, --allow-dns, --allow-uri or "
         "[[grants]]";
}

auth::RuntimeTraits traits_of(const Runtime& runtime) {
  const std::uint64_t pid = runtime.kernel_pid != 0 ? runtime.kernel_pid : runtime.pid;
  return {runtime.name, runtime.command_line, pid, runtime.user};
}

namespace {

Decision refuse(int status, std::uint32_t hresult, std::string why) {
  Decision decision;
  decision.refusal = {status, hresult, std::move(why)};
  return decision;
}

Decision decision_of(const auth::GrantMatch& match, std::uint32_t hresult = ipc::hresult::kAccessDenied) {
  if (!match.allowed) return refuse(http_status::kForbidden, hresult, match.why);
  return {true, match.rule, match.role, {}};
}

bool is_user_events(const FirstMessage& first) {
  if (first.command() != ipc::kCollectTracing5 && first.command() != ipc::kCollectTracing6) return false;
  // Read the session type alone, so that an error further on in the payload can't hide it.
  ipc::Reader payload(first.payload(), "the session type");
  return payload.u32() == static_cast<std::uint32_t>(ipc::SessionType::user_events);
}

/// Only for a message whose payload check_payload() accepts.
bool is_blocking(const FirstMessage& first) {
  if (first.command() != ipc::kCollectTracing6) return false;
  return ipc::CollectTracing::decode(first.command(), first.payload())->buffer_mode == ipc::BufferMode::block;
}

}  // namespace

Refusal no_role(const Caller& caller) {
  return {http_status::kForbidden, ipc::hresult::kAccessDenied, refusal(caller)};
}

Decision authorize(const Caller& caller, const Runtime& runtime, const FirstMessage& first) {
  const ipc::Command command = first.command();
  if (is_user_events(first)) {
    return refuse(http_status::kNotImplemented, ipc::hresult::kNotSupported,
                  "user_events sessions need a file descriptor, which can't cross a network; use a streaming "
                  "session");
  }
  const std::string_view name = ipc::name_of(command);
  const auth::RuntimeTraits traits = traits_of(runtime);
  const auth::GrantMatch match = caller.access->may(name.empty() ? auth::kUnknownCommand : name, traits);
  if (match.allowed && ipc::is_core_dump(command)) {
    return refuse(
        http_status::kNotImplemented, ipc::hresult::kNotSupported,
        "a dump would be written to a path of the runtime's own host; take it with farport connect, "
        "farport dump, or POST /v1/runtimes/{id}/dump");
  }
  if (!match.allowed) return decision_of(match);
  const Result<void> readable = ipc::check_payload(command, first.payload());
  if (!readable) {
    return refuse(http_status::kBadRequest, ipc::hresult::kBadEncoding,
                  std::string(name) + " can't be read: " + readable.error().why);
  }
  if (!is_blocking(first)) return decision_of(match);
  return decision_of(caller.access->may(auth::kBlockingSession, traits), ipc::hresult::kUnknownCommand);
}

Decision authorize_dump(const Caller& caller, const Runtime& runtime) {
  return decision_of(caller.access->may(ipc::name_of(ipc::kGenerateCoreDump3), traits_of(runtime)));
}

std::vector<std::string> permissions_to_take(std::string_view action, const Caller& caller,
                                             const Runtime& runtime) {
  if (action == "dump" || action == "modules") return {std::string(ipc::name_of(ipc::kGenerateCoreDump3))};
  std::vector<std::string> permissions;
  if (action != "profile") permissions.emplace_back(ipc::name_of(ipc::kCollectTracing2));
  const bool has_samples =
      action == "profile" || (action == "recent" && authorize_profile(caller, runtime).allowed);
  if (has_samples) permissions.emplace_back(auth::kProfile);
  if (action == "profile" && may_profile_kernel(caller, runtime))
    permissions.emplace_back(auth::kProfileKernel);
  return permissions;
}

Decision authorize_recent(const Caller& caller, const Runtime& runtime) {
  return decision_of(caller.access->may(ipc::name_of(ipc::kCollectTracing2), traits_of(runtime)));
}

Decision authorize_artifact(const Caller& caller, const Artifact& artifact) {
  Decision decision = refuse(http_status::kForbidden, ipc::hresult::kAccessDenied, "nobody may have it");
  for (const std::string& each : artifact.permissions) {
    decision = decision_of(caller.access->may(each, traits_of(artifact.runtime)));
    if (!decision.allowed) break;
  }
  return decision;
}

Decision authorize_keeping(const Caller& caller, const Runtime& runtime) {
  return decision_of(caller.access->may(auth::kKeepArtifacts, traits_of(runtime)));
}

Decision authorize_removal(const Caller& caller, const Artifact& artifact) {
  const auth::RuntimeTraits traits = traits_of(artifact.runtime);
  const bool is_theirs = !artifact.owner.empty() && artifact.owner == owner_of(caller);
  const auth::GrantMatch own = caller.access->may(auth::kKeepArtifacts, traits);
  if (is_theirs && own.allowed) return decision_of(own);
  return decision_of(caller.access->may(auth::kRemoveArtifacts, traits));
}

Decision authorize_profile(const Caller& caller, const Runtime& runtime) {
  return decision_of(caller.access->may(auth::kProfile, traits_of(runtime)));
}

bool may_profile_kernel(const Caller& caller, const Runtime& runtime) {
  // What a rule takes is for everybody who may profile.
  return caller.acting_for.empty() && caller.access->may(auth::kProfileKernel, traits_of(runtime)).allowed;
}

}  // namespace farport::router
