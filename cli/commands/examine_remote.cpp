// examine_remote(): examines the way to an agent and its runtimes.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <openssl/tls1.h>

#include <nlohmann/json.hpp>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "auth/openssl.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/commands/examine.hpp"
#include "cli/setup/remotes.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/diagnosis.hpp"
#include "router/wire/http_status.hpp"

namespace farport::cli {
namespace {

/// Our identity at an agent, from its answer to GET /v1/agent. The agent's text is limited in length but not
/// escaped.
struct Introduction {
  std::string version;
  std::string identity;
  std::string roles;  ///< Separated by commas; empty: none.
};

namespace step = router::step;
using Level = Finding::Level;
using router::Diagnosis;

Diagnosis said(std::string_view step, Level level, std::string text, std::string hint = {}) {
  return {std::string(step), {level, std::move(text), std::move(hint)}};
}

/// Parses the answer. Fails on anything else.
Result<Introduction> introduction_in(const std::string& body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object())
    return fail("read", "the agent's description of itself", "it is not a JSON object");
  const auto text = [](const nlohmann::json& object, const char* name) {
    constexpr std::size_t kLongest = 200;
    const auto member = object.find(name);
    const bool is_text = member != object.end() && member->is_string();
    return std::string(is_text ? shortened(member->get_ref<const std::string&>(), kLongest) : "?");
  };
  Introduction introduction{text(answer, "version"), text(answer, "identity"), {}};
  const auto grants = answer.find("grants");
  constexpr std::size_t kMaxGrants = 20;
  if (grants == answer.end() || !grants->is_array()) return introduction;
  for (std::size_t i = 0; i < std::min(grants->size(), kMaxGrants); ++i) {
    const nlohmann::json& grant = (*grants)[i];
    if (grant.is_object())
      introduction.roles += (introduction.roles.empty() ? "" : ", ") + text(grant, "role");
  }
  return introduction;
}

/// Compares the agent's version with ours. `agent`: its name for people.
Diagnosis diagnosis_of_version(const std::string& agent, const std::string& version) {
  const std::string own(kVersion);
  const std::string answers = agent + " answers: farport " + version;
  if (version == own) return said(step::kVersion, Level::ok, answers + ", the same version as this one");
  return said(step::kVersion, Level::warning, answers + ", and this is " + own,
              "features that both versions have work; for others, update the older side");
}

/// Whether we have any role there.
Diagnosis diagnosis_of_access(const Introduction& introduction) {
  const std::string who = "you are " + introduction.identity + " there";
  if (introduction.roles.empty()) {
    return said(step::kAccess, Level::problem, who + ", without a role",
                "grant it a role in the agent's configuration: --allow-cn NAME=ROLE or [[grants]]");
  }
  return said(step::kAccess, Level::ok, who + ", with the role " + introduction.roles);
}

/// When our certificate is valid; empty if it can't be read.
std::optional<auth::Validity> validity_of_own(const auth::TlsFiles& files) {
  const auto held = auth::load_credentials(files);
  if (!held) return std::nullopt;
  return auth::validity_of(held->chain.front().get());
}

/// The problems of our TLS files, or that there are none. `not_loaded`: why they could not be loaded.
std::vector<Diagnosis> diagnoses_of_own(const auth::TlsFiles& files, const std::optional<Error>& not_loaded) {
  const std::string word(router::step::kCertificate);
  std::vector<Diagnosis> all;
  bool explained = false;
  for (const Finding& finding : auth::check_tls_files(files, auth::Side::client)) {
    if (finding.level != Level::ok) all.push_back({word, finding});
    explained = explained || finding.level == Level::problem;
  }
  if (not_loaded && !explained) all.push_back({word, {Level::problem, not_loaded->message()}});
  if (all.empty()) all.push_back({word, {Level::ok, files.cert + " can be used"}});
  return all;
}

using router::MirroredAgent;
using transport::Task;

Diagnosis said_of_error(std::string_view step, Level level, Error error) {
  std::string hint = std::move(error.hint);
  error.hint.clear();
  return said(step, level, error.message(), std::move(hint));
}

void append(std::vector<Diagnosis>& all, std::vector<Diagnosis> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// The steps after name resolution, in order.
constexpr std::string_view kAfterName[] = {step::kConnect, step::kCertificate, step::kSession, step::kVersion,
                                           step::kAccess};

/// Reports all steps from `first` on as skipped.
void skip_from(std::string_view first, std::vector<Diagnosis>& diagnoses) {
  const auto place = std::find(std::begin(kAfterName), std::end(kAfterName), first);
  for (auto each = place; each != std::end(kAfterName); ++each) {
    diagnoses.push_back(said(*each, Level::skipped, "not asked"));
  }
  for (const std::string_view each : router::kAgentSteps)
    diagnoses.push_back(said(each, Level::skipped, "not asked"));
}

/// The examination of everything behind one remote.
class Examination {
 public:
  Examination(transport::Loop& loop, Depth depth) : loop_(loop), depth_(depth) {}

  Task<void> of_address(MirroredAgent agent, auth::TlsFiles files);
  Task<void> of_proxied(MirroredAgent agent, auth::TlsFiles files);
  Task<void> of_ways(MirroredAgent agent);
  [[nodiscard]] std::vector<Examined> take() { return std::move(all_); }
  void add(Examined examined) { all_.push_back(std::move(examined)); }

 private:
  Task<std::vector<transport::Address>> find(router::AgentAddress agent, Examined& into);
  Task<std::vector<transport::Address>> connect(std::vector<transport::Address> addresses, Examined& into);
  Task<auth::TlsCredentialsPtr> load(auth::TlsFiles files, std::string name, Examined& into);
  Task<void> of_session(MirroredAgent agent, std::string name, Examined& into);
  Task<void> of_answer(const router::FoundAgent& found, std::string name, Examined& into);
  Task<void> of_refusal(std::string name, Error why, Examined& into);
  Task<void> suspect_clock(std::string name, bool called_expired, Examined& into);

  transport::Loop& loop_;
  Depth depth_;
  std::vector<Examined> all_;
  std::set<std::string> agents_;  ///< Agents that were asked already.
  // About the current address:
  std::optional<auth::Validity> own_;
  std::optional<transport::Address> address_;  ///< Empty for a command or a proxy.
  bool by_command_ = false;
  std::string server_name_;
};

/// The same agent at a single address.
MirroredAgent narrowed(const MirroredAgent& agent, const transport::Address& address) {
  MirroredAgent one = agent;
  one.address.server_name = agent.address.verified_name();
  const std::string text = address.text();
  one.address.host = text.substr(0, text.rfind(':'));
  if (one.address.host.starts_with('['))
    one.address.host = one.address.host.substr(1, one.address.host.size() - 2);
  return one;
}

std::string list_of(const std::vector<transport::Address>& addresses) {
  std::vector<std::string> texts;
  for (const transport::Address& address : addresses) texts.push_back(address.text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Dials each address. Returns those that answer.
Task<std::vector<transport::Address>> Examination::connect(std::vector<transport::Address> addresses,
                                                           Examined& into) {
  std::vector<transport::Address> open;
  std::vector<Error> failures;
  for (const transport::Address& address : addresses) {
    const auto connection = co_await transport::connect_tcp(loop_, address, router::kDialLimit);
    if (connection) open.push_back(address);
    if (!connection) failures.push_back(connection.error());
  }
  if (!open.empty())
    into.diagnoses.push_back(said(step::kConnect, Level::ok, list_of(open) + ": the port is open"));
  for (const Error& failure : failures) {
    into.diagnoses.push_back(
        said_of_error(step::kConnect, open.empty() ? Level::problem : Level::warning, failure));
  }
  co_return open;
}

/// Resolves and dials the agent's name. Returns the addresses that accept a connection; none if the
/// examination ends here.
Task<std::vector<transport::Address>> Examination::find(router::AgentAddress agent, Examined& into) {
  const auto addresses = co_await transport::resolve(loop_, agent.host, agent.port);
  if (!addresses) {
    Error unknown = addresses.error();
    if (unknown.hint.empty()) unknown.hint = "check the spelling, and this host's DNS configuration";
    into.diagnoses.push_back(said_of_error(step::kName, Level::problem, std::move(unknown)));
    skip_from(step::kConnect, into.diagnoses);
    co_return std::vector<transport::Address>();
  }
  if (!transport::is_literal(agent.host)) {
    into.diagnoses.push_back(said(step::kName, Level::ok, agent.host + " is " + list_of(*addresses)));
  }
  std::vector<transport::Address> open = co_await connect(*addresses, into);
  if (open.empty()) skip_from(step::kCertificate, into.diagnoses);
  co_return open;
}

/// Loads our credentials; null if the examination ends here.
Task<auth::TlsCredentialsPtr> Examination::load(auth::TlsFiles files, std::string name, Examined& into) {
  own_ = validity_of_own(files);
  const auto loaded = auth::TlsCredentials::load(files, auth::Side::client);
  std::optional<Error> not_loaded;
  if (!loaded) {
    not_loaded = loaded.error();
    // A certificate that looks expired may mean a wrong clock, so check that first.
    co_await suspect_clock(std::move(name), false, into);
  }
  append(into.diagnoses, diagnoses_of_own(files, not_loaded));
  if (!not_loaded) co_return *loaded;
  skip_from(step::kSession, into.diagnoses);
  co_return nullptr;
}

Task<void> Examination::of_address(MirroredAgent agent, auth::TlsFiles files) {
  Examined way{agent.address.text(), {}};
  const std::vector<transport::Address> open = co_await find(agent.address, way);
  if (!open.empty()) {
    server_name_ = agent.address.verified_name();
    address_ = open.front();
    agent.credentials = co_await load(std::move(files), agent.address.text(), way);
  }
  // Diagnoses for all addresses come before those of the first one.
  for (std::size_t i = 0; agent.credentials != nullptr && i < open.size(); ++i) {
    address_ = open[i];
    if (i > 0) add(std::exchange(way, {}));
    way.agent = open[i].text();
    co_await of_session(narrowed(agent, open[i]), way.agent, way);
  }
  add(std::move(way));
}

Task<void> Examination::of_proxied(MirroredAgent agent, auth::TlsFiles files) {
  const std::string name = agent.address.text();
  Examined way{name, {}};
  way.diagnoses.push_back(
      said(step::kConnect, Level::ok, name + " is dialled through the proxy " + agent.proxy->text()));
  agent.credentials = co_await load(std::move(files), name, way);
  if (agent.credentials != nullptr) co_await of_session(std::move(agent), name, way);
  add(std::move(way));
}

Task<void> Examination::suspect_clock(std::string name, bool called_expired, Examined& into) {
  ClockSigns signs{std::time(nullptr), own_, {}, called_expired, {}};
  if (address_) signs.agents = co_await router::peek_certificate_validity(loop_, *address_, server_name_);
  if (const auto wrong = check_clocks(signs, name))
    into.diagnoses.push_back({std::string(step::kClock), *wrong});
}

Task<void> Examination::of_ways(MirroredAgent agent) {
  by_command_ = true;
  const auto ways = co_await agent.reach->find(loop_);
  if (!ways || ways->empty()) {
    Examined none{agent.remote, {}};
    const Error nothing{"reach", agent.remote, "nothing runs there",
                        "start the application, or name another one"};
    none.diagnoses.push_back(said_of_error(step::kReach, Level::problem, ways ? nothing : ways.error()));
    skip_from(step::kVersion, none.diagnoses);
    add(std::move(none));
    co_return;
  }
  for (const auto& way : *ways) {
    MirroredAgent one = agent;
    one.reach = way;
    Examined mine{way->text(), {}};
    co_await of_session(std::move(one), way->text(), mine);
    add(std::move(mine));
  }
}

Task<void> Examination::of_session(MirroredAgent agent, std::string name, Examined& into) {
  // There is one place to ask, and so one agent.
  auto found =
      co_await router::find_agents(loop_, std::move(agent), router::ClientOptions(loop_), "/v1/agent");
  if (found) {
    co_await of_answer(found->front(), name, into);
    co_await router::leave_agents(loop_, std::move(*found));
  } else {
    co_await of_refusal(name, found.error(), into);
  }
}

Task<void> Examination::of_refusal(std::string name, Error why, Examined& into) {
  const std::string_view way = by_command_ ? step::kReach : step::kSession;
  if (why.cause == EACCES && !by_command_) {
    into.diagnoses.push_back(
        said(step::kSession, Level::ok, name + ": both sides accept each other's certificates"));
    into.diagnoses.push_back(said(step::kAccess, Level::problem, name + ": " + why.why,
                                  "on the agent's host: farport check --as says what an identity may do"));
    for (const std::string_view each : router::kAgentSteps) {
      into.diagnoses.push_back(said(each, Level::skipped, "not asked"));
    }
    co_return;
  }
  const bool called_expired = why.cause == Cause::alert(SSL3_AD_CERTIFICATE_EXPIRED);
  co_await suspect_clock(name, called_expired, into);
  into.diagnoses.push_back(said_of_error(way, Level::problem, std::move(why)));
  skip_from(step::kVersion, into.diagnoses);
}

Task<void> Examination::of_answer(const router::FoundAgent& found, std::string name, Examined& into) {
  const std::string_view way = by_command_ ? step::kReach : step::kSession;
  const std::string way_text =
      by_command_ ? ": the way there is open" : ": both sides accept each other's certificates";
  const auto introduction = introduction_in(found.answer);
  if (!introduction) {
    into.diagnoses.push_back(said(step::kVersion, Level::problem,
                                  name + " answers, but it is no farport agent",
                                  "is it another program's port?"));
    co_return;
  }
  const std::string& agent = found.client->agent();
  if (!agent.empty() && !agents_.insert(agent).second) {
    into.diagnoses.push_back(said(way, Level::ok, name + " is an agent that has been asked already"));
    co_return;
  }
  const std::string path = depth_ == Depth::runtimes ? "/v1/doctor" : "/v1/doctor?runtimes=false";
  const auto told = co_await found.client->get(path);
  const auto doctor = told ? router::doctor_answer_from_json(*told)
                           : Result<router::DoctorAnswer>(tl::unexpected(told.error()));
  if (doctor) {
    ClockSigns signs{std::time(nullptr), {}, {}, false, doctor->time};
    if (const auto wrong = check_clocks(signs, name))
      into.diagnoses.push_back({std::string(step::kClock), *wrong});
  }
  into.diagnoses.push_back(said(way, Level::ok, name + way_text));
  into.diagnoses.push_back(diagnosis_of_version(name, introduction->version));
  into.diagnoses.push_back(diagnosis_of_access(*introduction));
  if (doctor) {
    append(into.diagnoses, doctor->diagnoses);
  } else if (doctor.error().cause == Cause::http(router::http_status::kNotFound)) {
    into.diagnoses.push_back(said(step::kSearch, Level::warning, name + " is of a version that says no more",
                                  "update it, or run farport doctor on its host"));
  } else {
    into.diagnoses.push_back(said_of_error(step::kSearch, Level::problem, doctor.error()));
  }
}

}  // namespace

std::vector<Examined> examine_remote(const config::RemoteSettings& remote, Depth depth) {
  transport::Loop loop;
  Examination examination(loop, depth);
  if (!remote.accept.empty()) {
    Examined none{name_of(remote), {}};
    none.diagnoses.push_back(said(step::kReach, Level::warning,
                                  name_of(remote) + ": agents that dial in can't be asked",
                                  "run farport doctor on their hosts"));
    skip_from(step::kVersion, none.diagnoses);
    examination.add(std::move(none));
  } else if (remote.addresses.empty()) {
    auto agents = agents_of({remote});
    if (agents) {
      for (MirroredAgent& agent : *agents) loop.run(examination.of_ways(std::move(agent)));
    } else {
      Examined none{name_of(remote), {}};
      none.diagnoses.push_back(said_of_error(step::kReach, Level::problem, agents.error()));
      skip_from(step::kVersion, none.diagnoses);
      examination.add(std::move(none));
    }
  }
  for (const config::Address& address : remote.addresses) {
    MirroredAgent agent{{address.host, address.port, remote.server_name}, nullptr, {}};
    agent.proxy = remote.proxy.towards(address.host);
    const auth::TlsFiles files = tls_files(remote.tls, remote.verify);
    loop.run(agent.proxy ? examination.of_proxied(std::move(agent), files)
                         : examination.of_address(std::move(agent), files));
  }
  return examination.take();
}

}  // namespace farport::cli
