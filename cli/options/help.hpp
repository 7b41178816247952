// What --help says beside the list of options: what a command is for, and how it is mostly used.
#pragma once

namespace farport::cli {

inline constexpr const char* kAbout =
    "farport makes .NET runtimes on another host look local, over mutual TLS or your own ssh,\n"
    "so that the stock dotnet-trace, dotnet-counters, dotnet-dump … work on them unchanged.\n"
    "\n"
    "Most commands take a TARGET, which says where the runtimes are:\n"
    "  ssh://HOST  podman://CONTAINER  docker://CONTAINER  k8s://POD  k8s://NAMESPACE/deploy/NAME\n"
    "      nothing has to be installed there: farport brings itself along\n"
    "  HOST:PORT\n"
    "      where farport serve listens\n"
    "  …/RUNTIME behind any of them chooses one of several: its name, pid or id\n";

inline constexpr const char* kJsonLinesHelp = "Print each change as a line of JSON";
inline constexpr const char* kDetachHelp =
    "Return once the runtimes are listed, and go on without a terminal until farport disconnect";
inline constexpr const char* kAgentHelp =
    "HOST:PORT of an agent, ssh://HOST, podman://CONTAINER, docker://CONTAINER, k8s://POD or "
    "k8s://NAMESPACE/deploy/NAME, or a profile of the configuration file";

inline constexpr const char* kExamples = R"(Examples:
  Without anything on the other side:
    farport ps ssh://ops@web-3
    farport profile podman://orders -o flames.html
    farport run k8s://prod/deploy/orders -- dotnet-trace collect -n orders
  Certificates, once, where secrets are safe:
    farport certs init certs
    farport certs server certs --name agent --dns orders.example
    farport certs client certs --name alice
    farport certs bundle certs --name agent
    farport certs bundle certs --name alice
  Beside the application, with agent.pem of these:
    farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \
        --tls-bundle agent.pem
  Beside the tools, with alice.pem:
    farport connect --detach orders.example:9000 --tls-bundle alice.pem
    dotnet-trace ps
    farport disconnect --all
  Both in one, for one tool:
    farport run -- dotnet-trace collect --diagnostic-port orders.example:9000

The bundle may also stand in FARPORT_TLS_BUNDLE, or in
~/.config/farport/config.toml, and there may be three files in its place.
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
  farport serve --dial laptop.example:9443 …
      (where nobody can dial us: farport connect --accept 0.0.0.0:9443 there)
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
  farport connect ssh://ops@web-3                  (no port, no certificates, no farport there)
  farport connect podman://orders
  farport connect k8s://prod/deploy/orders
  farport connect --accept 0.0.0.0:9443            (farport serve --dial)
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

inline constexpr const char* kQuickstartAbout =
    "Makes certificates for this one run, starts an agent with them, and prints a line to paste on the "
    "laptop.\n"
    "Nothing needs to be there before, and nothing is left: the CA's key is gone before anybody is let in, "
    "and\n"
    "the certificates open nothing once the agent ends. It serves the runtimes of the user who runs it; as "
    "root\n"
    "those of all users. The line is a key: paste it, don't keep it. For an agent that stays: farport serve.";
inline constexpr const char* kQuickstartExamples = R"(Examples:
  farport quickstart
  farport quickstart orders.example --listen 0.0.0.0:9443
  farport quickstart 127.0.0.1 --listen 127.0.0.1:9000      (behind ssh -L or kubectl port-forward)
  farport quickstart --role observer                       (traces and counters, no dumps))";

inline constexpr const char* kJoinAbout =
    "Takes the invitation that farport quickstart has printed from standard input; on a terminal it asks for "
    "it,\n"
    "and does not show it. Its key is kept in a directory of yours that is gone when you log out. It goes on "
    "as\n"
    "farport connect: remote runtimes look local until Ctrl-C, or farport disconnect with --detach.";
inline constexpr const char* kJoinExamples = R"(Examples:
  farport join                                    (and paste the invitation)
   echo 'farport1,10.0.0.2:9000,…' | farport join --detach
   echo 'farport1,10.0.0.2:9000,…' | farport join localhost:9000      (a port-forward leads there))";

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
  farport run prod-orders -- dotnet-stack report -p 1
  farport run podman://orders -- dotnet-trace collect -n orders)";

inline constexpr const char* kPsAbout = "Lists the runtimes of one or several agents.";
inline constexpr const char* kPsExamples = R"(Examples:
  farport ps orders.example:9000
  farport ps prod-orders --json)";

inline constexpr const char* kCountersAbout =
    "Shows the values of a remote application's counters, as dotnet-counters does: those of its meters and "
    "of its\n"
    "EventCounters. Names are dotnet-counters': System.Runtime, Orders[orders-priced,queue], or\n"
    "EventCounters\\Orders for the EventSource alone. A table on a terminal, otherwise a line for each "
    "value.";
inline constexpr const char* kCountersExamples = R"(Examples:
  farport counters orders.example:9000
  farport counters prod-orders/orders --counters 'Orders,System.Runtime[dotnet.gc.pause.time]'
  farport counters podman://orders --format csv -o orders.csv --duration 5m)";

inline constexpr const char* kTopAbout =
    "Shows all runtimes of one or several agents at a glance: what they take of processors and memory, what "
    "the GC\n"
    "does, exceptions, the thread pool, and ASP.NET's requests. Keys sort; where it is piped it prints a "
    "table each time.";
inline constexpr const char* kTopExamples = R"(Examples:
  farport top orders.example:9000 payments.example:9000
  farport top k8s://prod/deploy/orders
  farport top prod --sort memory --rounds 1)";

inline constexpr const char* kLogsAbout =
    "Shows what a remote application writes to its log (Microsoft.Extensions.Logging), without a restart and "
    "whatever\n"
    "its own log goes to. Without --level and --category, what the application's own filters let pass.";
inline constexpr const char* kLogsExamples = R"(Examples:
  farport logs orders.example:9000
  farport logs prod-orders/orders --level Debug --category 'Orders.*'
  farport logs podman://orders --format json | jq .message)";

inline constexpr const char* kExceptionsAbout =
    "Shows each exception that a remote application throws, also those that it catches, with the stack at "
    "which it\n"
    "was thrown. The names of methods come from the runtime, which takes it a moment where one is new.";
inline constexpr const char* kExceptionsExamples = R"(Examples:
  farport exceptions orders.example:9000
  farport exceptions prod-orders/orders --duration 1m --format json)";

inline constexpr const char* kStacksAbout =
    "Shows the stack of each of a remote runtime's threads, the innermost call first, as dotnet-stack does.\n"
    "Where the runtime does not answer for five seconds its threads are looked at from outside, even if the "
    "process hangs.";
inline constexpr const char* kStacksExamples = R"(Examples:
  farport stacks orders.example:9000
  farport stacks podman://orders --format json)";

inline constexpr const char* kProfileAbout =
    "Draws a flame graph of what a remote application computes, or with --event wall of what all its\n"
    "threads do, waiting included. Nothing has to be set up for it beside the application, and nothing is\n"
    "started again.";
inline constexpr const char* kProfileExamples = R"(Examples:
  farport profile orders.example:9000 -o orders.html
  farport profile k8s://prod/deploy/orders --wall -o orders.html
  farport profile k8s://prod/deploy/orders --event wall --top
  farport profile podman://orders --top
  farport profile orders.example:9000 | grep Pricing)";

inline constexpr const char* kGcdumpAbout =
    "Has a remote runtime collect its garbage and tell what is left: how many objects of each type there "
    "are, "
    "and\n"
    "how much they take. The application stands still meanwhile. A .gcdump file has each object and what it "
    "refers\n"
    "to: dotnet-gcdump, PerfView and Visual Studio open it.";
inline constexpr const char* kGcdumpExamples = R"(Examples:
  farport gcdump orders.example:9000
  farport gcdump prod-orders/orders -o orders.gcdump
  farport gcdump podman://orders --format json | jq '.types[0]')";

inline constexpr const char* kConvertAbout =
    "Makes a flame graph, or another file, of the samples in a recording of farport trace or dotnet-trace "
    "(profile\n"
    "dotnet-sampled-thread-time, which is among those recorded by default).";
inline constexpr const char* kConvertExamples = R"(Examples:
  farport convert orders.nettrace -o orders.html
  farport convert orders.nettrace --top)";

inline constexpr const char* kTraceAbout =
    "Records what dotnet-trace collect would, into the same kind of file, where there is no .NET. Profiles "
    "and\n"
    "providers are those of dotnet-trace; without any, dotnet-common and dotnet-sampled-thread-time. Ctrl-C\n"
    "ends it well: the runtime names its methods first. Prints the path.";
inline constexpr const char* kTraceExamples = R"(Examples:
  farport trace orders.example:9000 --duration 30s
  farport trace prod-orders/orders --profile gc-collect -o orders.nettrace
  farport trace podman://orders --providers 'Orders:0x1:4'
  farport trace ssh://ops@web-3//orders --profile gc-verbose \
      --providers Microsoft-AspNetCore-Server-Kestrel
  farport trace orders.example:9000 --profile gc-verbose \
      --stopping-event-provider-name Orders --stopping-event-event-name PricedBadly)";

inline constexpr const char* kDumpAbout =
    "Has a remote runtime write a dump, brings it here and removes it there. Prints the path; the file "
    "appears\n"
    "when it is whole. The application stands still while it writes the dump. (With farport connect,\n"
    "dotnet-dump collect does the same.)";
inline constexpr const char* kDumpExamples = R"(Examples:
  farport dump orders.example:9000
  farport dump orders.example:9000/orders -o orders.dmp --type full
  farport dump prod-orders/1 --stay
  farport dump podman://orders//orders)";

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
    "Makes a small CA and certificates (ECDSA P-256, 90 days) for those who have no PKI at hand, and "
    "bundles:\n"
    "one file for each side.";
inline constexpr const char* kCertsExamples = R"(Examples:
  farport certs init certs
  farport certs server certs --name agent --dns orders.example --ip 10.0.0.2
  farport certs client certs --name alice \
      --uri spiffe://acme.example/ns/prod/sa/oncall
  farport certs bundle certs --name alice --encrypt)";

inline constexpr const char* kCheckAbout =
    "Reads a configuration and its certificates and says what is right and what is wrong with them. With\n"
    "remotes it checks what connect would use, and dials as farport doctor does; otherwise what serve "
    "would.\n"
    "Exit code 0 if nothing is wrong.\n"
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

inline constexpr const char* kDoctorAbout =
    "Tries each thing on the way to a runtime for real, in the order in which one would ask, and says what "
    "is\n"
    "wrong and what to do. Check is about a configuration, doctor about a situation. Without an AGENT it is\n"
    "about this host, as an agent with this configuration would find it. Exit code 0 without problems, else "
    "1.";
inline constexpr const char* kDoctorExamples = R"(Examples:
  farport doctor                             beside the runtimes
  farport doctor --config /etc/farport/agent.toml
  farport doctor orders.example:9000         from afar
  farport doctor podman://orders
  farport doctor prod-orders --json)";

inline constexpr const char* kHelpAllAbout =
    "Prints the help of every command, or as JSON all commands, options and settings of the configuration:\n"
    "names, types, bounds, defaults. The manual pages and the completions are made from that.";
inline constexpr const char* kHelpAllExamples = R"(Examples:
  farport help-all
  farport help-all --format json)";

}  // namespace farport::cli
