// What --help says beside the list of options: what a command is for, and how it is mostly used.
#pragma once

namespace farport::cli {

inline constexpr const char* kAbout =
    "farport makes .NET runtimes on another host look local, over mutual TLS, so that the\n"
    "stock dotnet-trace, dotnet-counters, dotnet-dump … work on them unchanged.";

inline constexpr const char* kExamples = R"(Examples:
  Certificates, once, on your own machine:
    farport certs init certs
    farport certs server certs --name agent --dns orders.example
    farport certs client certs --name alice
  Beside the application, with agent.crt, agent.key and ca.crt of these:
    farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \
        --tls-cert agent.crt --tls-key agent.key --tls-ca ca.crt
  Beside the tools, with alice.crt, alice.key and ca.crt:
    farport connect --detach orders.example:9000 \
        --tls-cert alice.crt --tls-key alice.key --tls-ca ca.crt
    dotnet-trace ps
    farport disconnect --all
  Both in one, for one tool:
    farport run -- dotnet-trace collect --diagnostic-port orders.example:9000

Certificates may also stand in FARPORT_TLS_CERT, FARPORT_TLS_KEY and
FARPORT_TLS_CA, or in ~/.config/farport/config.toml.
"farport COMMAND --help" says more, "farport help-all" everything.)";

inline constexpr const char* kServeAbout =
    "The agent: runs beside .NET runtimes (a sidecar, a host daemon), finds their diagnostic sockets and\n"
    "offers them over mutual TLS. Run it as the same user as the runtimes, or as root.";
inline constexpr const char* kServeExamples = R"(Examples:
  farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \
      --tls-cert agent.crt --tls-key agent.key --tls-ca ca.crt
  farport serve --listen [::]:9000 --search /tmp --search /run/app \
      --allow-uri 'spiffe://acme.example/ns/*/sa/oncall' …
  farport serve --diagnostic-port /diag/farport.sock …
      (for runtimes with DOTNET_DiagnosticPorts=/diag/farport.sock)
  farport serve --config /etc/farport/agent.toml)";

inline constexpr const char* kConnectAbout =
    "The mirror: makes every runtime of one or several agents look local until Ctrl-C. A name with many\n"
    "addresses means all of them.";
inline constexpr const char* kConnectExamples = R"(Examples:
  farport connect orders.example:9000
  farport connect orders.example:9000 --detach     (until farport disconnect)
  farport connect prod-orders                      (a profile of the file)
  farport connect localhost:9000 --server-name orders      (a port-forward)
  farport connect 10.0.0.2:9000 --socket orders=/tmp/orders.sock
  farport connect 10.0.0.2:9000 --select 'orders*' --json
  farport connect 10.0.0.2:9000 --to /tmp/t.sock
      (for dotnet-trace collect --diagnostic-port /tmp/t.sock)
Then, in another terminal:
  dotnet-trace ps
  dotnet-trace collect -p PID)";

inline constexpr const char* kStdioAbout =
    "What connect --via and ssh:// run at the other end. It joins this user's own agent, or starts it, and\n"
    "carries a session over its standard input and output. That agent serves this user's runtimes to this\n"
    "user alone, without a port, and ends a while after its last session.";
inline constexpr const char* kStdioExamples = R"(Examples:
  farport connect --via 'ssh ops@web-3 farport stdio'      (on the laptop)
  farport stdio --join /run/farport/agent.sock
      (a farport serve with --local /run/farport/agent.sock, whose grants count)";

inline constexpr const char* kDisconnectAbout =
    "Ends mirrors that farport connect --detach has started, and says which are running when no agent is "
    "named.";
inline constexpr const char* kDisconnectExamples = R"(Examples:
  farport disconnect                      what is running
  farport disconnect orders.example:9000
  farport disconnect --all)";

inline constexpr const char* kRunAbout =
    "Runs a tool with a private mirror. In the tool's arguments, --diagnostic-port "
    "HOST:PORT[/RUNTIME][,listen],\n"
    "the remote's -p PID and -n NAME are replaced by what is mirrored here; with ,listen the tool gets the "
    "next\n"
    "runtime that starts, or the one that is named. Returns the tool's exit code, and 125 where its "
    "connection\n"
    "was cut off.";
inline constexpr const char* kRunExamples = R"(Examples:
  farport run -- dotnet-trace collect --diagnostic-port orders.example:9000
  farport run -- dotnet-trace collect --duration 00:00:30 \
      --diagnostic-port orders.example:9000/orders
  farport run -- dotnet-trace collect \
      --diagnostic-port orders.example:9000,listen     (the next that starts)
  farport run orders.example:9000 -- dotnet-counters monitor -n orders
  farport run prod-orders -- dotnet-stack report -p 1)";

inline constexpr const char* kPsAbout = "Lists the runtimes of one or several agents.";
inline constexpr const char* kPsExamples = R"(Examples:
  farport ps orders.example:9000
  farport ps prod-orders --json)";

inline constexpr const char* kDumpAbout =
    "Has a remote runtime write a dump, brings it here and removes it there. Prints the path; the file "
    "appears\n"
    "when it is whole. The application stands still while it writes the dump. (With farport connect,\n"
    "dotnet-dump collect does the same.)";
inline constexpr const char* kDumpExamples = R"(Examples:
  farport dump orders.example:9000
  farport dump orders.example:9000/orders -o orders.dmp --type full
  farport dump prod-orders/1 --stay)";

inline constexpr const char* kCanIAbout =
    "Asks an agent what our certificate may do there (trace, dump, ...): on which runtimes, by which grant,\n"
    "or which role it needs. With a command of the protocol the exit code is 0 where it is allowed and 1 "
    "where\n"
    "it isn't.";
inline constexpr const char* kCanIExamples = R"(Examples:
  farport can-i orders.example:9000
  farport can-i prod-orders --all            (each command of the protocol)
  farport can-i prod-orders GenerateCoreDump3)";

inline constexpr const char* kCertsAbout =
    "Makes a small CA and certificates (ECDSA P-256, 90 days) for those who have no PKI at hand.";
inline constexpr const char* kCertsExamples = R"(Examples:
  farport certs init certs
  farport certs server certs --name agent --dns orders.example --ip 10.0.0.2
  farport certs client certs --name alice \
      --uri spiffe://acme.example/ns/prod/sa/oncall)";

inline constexpr const char* kCheckAbout =
    "Reads a configuration and its certificates and says what is right and what is wrong with them. With\n"
    "remotes it checks what connect would use, otherwise what serve would. Exit code 0 if nothing is wrong.\n"
    "With --as it says what an identity may do with the agent's configuration, without an agent: exit code 0 "
    "if\n"
    "the --command is allowed.";
inline constexpr const char* kCheckExamples = R"(Examples:
  farport check --config /etc/farport/agent.toml
  farport check prod-orders
  farport check --config /etc/farport/agent.toml --as CN=alice \
      --command GenerateCoreDump3
  farport check --listen 0.0.0.0:9000 --allow-cn alice=operator \
      --tls-cert agent.crt --tls-key agent.key --tls-ca ca.crt)";

inline constexpr const char* kHelpAllAbout =
    "Prints the help of every command, or as JSON all commands, options and settings of the configuration:\n"
    "names, types, bounds, defaults. The manual pages and the completions are made from that.";
inline constexpr const char* kHelpAllExamples = R"(Examples:
  farport help-all
  farport help-all --format json)";

}  // namespace farport::cli
