// A web application that is looked at from outside, and writes down itself what there is to be seen.
//
// usage: watched --port PORT --journal FILE
//
//   GET /burn     computes for 100 ms
//   GET /sleep    sleeps for 100 ms
//   GET /wait/SECONDS answers after that time
//   GET /log?message=TEXT&level=LEVEL&category=NAME
//   GET /throw?message=TEXT   throws and catches
//   GET /throw-new?number=N   the same by a method that has not run before, for N from 0 to 3
//   GET /count?by=N           adds to the meter's and the EventSource's counters
//   GET /query?text=TEXT      says that it has sent this to a database, as EF Core does
//   GET /tick                 what they stand at
//   GET /end?how=HOW          ends the process a moment later: exception, failfast, overflow, exit or done
//   GET /hold?count=N         keeps so many more objects, and says what all objects take then
//   GET /compile?count=N      makes so many methods, calls them, and has the first one throw
//   GET /compiled             has that one throw again
//   GET /starve               takes all threads of the pool for a minute, one more whenever the pool adds one
//
// The journal has a JSON object in each line.
using System.Text.Json;
using Watched;

string Argument(string name)
{
    int at = Array.IndexOf(args, name);
    return at >= 0 && at + 1 < args.Length ? args[at + 1] : throw new ArgumentException($"{name} is missing");
}

using Journal journal = new(Argument("--journal"));
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.Logging.AddEventSourceLogger();
builder.WebHost.ConfigureKestrel(server => server.ListenLocalhost(int.Parse(Argument("--port"))));
WebApplication app = builder.Build();

app.MapGet("/burn", () => Work.Burn(TimeSpan.FromMilliseconds(100)));
app.MapGet("/sleep", () => Work.Sleep(TimeSpan.FromMilliseconds(100)));
app.MapGet("/wait/{seconds}", async (double seconds) => await Task.Delay(TimeSpan.FromSeconds(seconds)));
app.MapGet("/log", (string message, string level, string category, ILoggerFactory loggers) =>
{
    LogLevel logLevel = Enum.Parse<LogLevel>(level);
    journal.Write("log", new { message, level, category });
    loggers.CreateLogger(category).Log(logLevel, 7, "{Text} it is", message);
});
app.MapGet("/throw", (string message) => journal.Write("exception", Thrower.Catch(message)));
app.MapGet("/throw-new", (int number) => Thrower.CatchNew(number));
app.MapGet("/compile", (int count) => Compiled.Make(count));
app.MapGet("/compiled", () => Compiled.Throw());
app.MapGet("/count", (int by) => Counts.Add(by));
app.MapGet("/series", () => Series.Hit());
app.MapGet("/query", (string text) => Database.Query(text));
app.MapGet("/tick", () => Counts.Total);
app.MapGet("/end", (string how) => Ending.Begin(how));
app.MapGet("/starve", () => Work.Starve(TimeSpan.FromMinutes(1)));
app.MapGet("/hold", (int count) => Held.Keep(count));
app.Lifetime.ApplicationStarted.Register(() => Console.WriteLine("ready"));
app.Run();
