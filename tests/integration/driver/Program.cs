// What a diagnostic tool does, as Microsoft's client library does it: one subcommand per way to use it. Results
// are printed as lines of `name value`.
using Driver;
using Microsoft.Diagnostics.NETCore.Client;

const string usage = """
    driver COMMAND (PID | --socket PATH) [ARGUMENTS]

      info                     process information
      env                      environment variables
      counters SECONDS         values of the System.Runtime and Orders counters
      heapwalk                 the heap events of one induced collection, as dotnet-gcdump asks for them
      session SECONDS          an event session: bytes, events, and whether any is missing
      until-end                an event session that goes on until the runtime ends it
      many N SECONDS           N event sessions at once
      hold PROVIDER            opens an event session and keeps it
      dump TYPE PATH           a dump, as dotnet-dump asks for it: Normal, WithHeap, Triage or Full
      resume                   resumes a suspended runtime
      set NAME VALUE           sets an environment variable
      perfmap                  enables the perf map and disables it again
      hook PATH                applies a startup hook
      profiler GUID PATH       attaches a profiler

    driver read FILE

      says of a trace's Orders events what `session` says of those that it gets

    driver events FILE

      prints every event of a trace, in the form of nettrace_dump

    driver perf-script FILE

      prints the samples of a file of `perf script`'s form

    driver thrown FILE

      prints the exceptions of a trace, each with the methods on its stack: `thrown TYPE FRAME;…;FRAME`, the innermost first

    driver gcdump FILE DIRECTORY

      says what is in a .gcdump file; the directory is that of dotnet-trace's assemblies, which read it

    driver silent SECONDS

      is no tool but a runtime: its provider Silent writes nothing, and tells of every change of its sessions
    """;

if (args.Length < 2)
{
    Console.Error.WriteLine(usage);
    return 2;
}
var command = args[0];
if (command == "read")
{
    Sessions.ReadFile(args[1]).Print();
    return 0;
}
if (command == "events")
{
    using var output = new StreamWriter(Console.OpenStandardOutput());
    Events.Print(args[1], output);
    return 0;
}
if (command == "perf-script")
{
    PerfScript.Print(args[1]);
    return 0;
}
if (command == "thrown")
{
    Thrown.Print(args[1]);
    return 0;
}
if (command == "gcdump")
{
    HeapFile.Print(args[1], args[2]);
    return 0;
}
if (command == "silent")
{
    Silent.Wait(double.Parse(args[1]));
    return 0;
}
var bySocket = args[1] == "--socket";
var rest = args[(bySocket ? 3 : 2)..];

try
{
    await using var connector = bySocket
        ? await DiagnosticsClientConnector.FromDiagnosticPort(args[2] + ",connect", CancellationToken.None)
        : null;
    var client = connector?.Instance ?? new DiagnosticsClient(int.Parse(args[1]));
    switch (command)
    {
        case "info":
            Process.PrintInfo(client);
            return 0;
        case "env":
            Process.PrintEnvironment(client);
            return 0;
        case "counters":
            Counters.Print(client, double.Parse(rest[0]));
            return 0;
        case "heapwalk":
            HeapWalk.Print(client);
            return 0;
        case "session":
            (await Sessions.Collect(client, double.Parse(rest[0]))).Print();
            return 0;
        case "until-end":
            (await Sessions.CollectUntilEnd(client)).Print();
            return 0;
        case "many":
            await Sessions.PrintMany(client, int.Parse(rest[0]), double.Parse(rest[1]));
            return 0;
        case "hold":
            Sessions.Hold(client, rest[0]);
            return 0;
        case "dump":
            client.WriteDump(Enum.Parse<DumpType>(rest[0]), rest[1], WriteDumpFlags.None);
            return 0;
        case "resume":
            client.ResumeRuntime();
            return 0;
        case "set":
            client.SetEnvironmentVariable(rest[0], rest[1]);
            return 0;
        case "perfmap":
            client.EnablePerfMap(PerfMapType.PerfMap);
            client.DisablePerfMap();
            return 0;
        case "hook":
            client.ApplyStartupHook(rest[0]);
            return 0;
        case "profiler":
            client.AttachProfiler(TimeSpan.FromSeconds(5), Guid.Parse(rest[0]), rest[1]);
            return 0;
        default:
            Console.Error.WriteLine($"driver: unknown command {command}\n\n{usage}");
            return 2;
    }
}
catch (Exception failure)
{
    // The kind of failure is what a test asks for; the stack is for whoever reads the log.
    Console.WriteLine($"failed {failure.GetType().Name}: {failure.Message}");
    Console.Error.WriteLine(failure);
    return 1;
}
