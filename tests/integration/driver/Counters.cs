using System.Diagnostics.Tracing;
using System.Globalization;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

namespace Driver;

/// <summary>Event counters, asked for as dotnet-counters does.</summary>
internal static class Counters
{
    /// <summary>Prints the last value of each counter seen in <paramref name="seconds"/>.</summary>
    public static void Print(DiagnosticsClient client, double seconds)
    {
        var everySecond = new Dictionary<string, string> { ["EventCounterIntervalSec"] = "1" };
        EventPipeProvider[] providers =
        [
            new("System.Runtime", EventLevel.Informational, 0, everySecond),
            new("Orders", EventLevel.Informational, 0, everySecond),
        ];
        var values = new SortedDictionary<string, double>();
        using var session = client.StartEventPipeSession(providers, requestRundown: false);
        using var source = new EventPipeEventSource(session.EventStream);
        source.Dynamic.All += happened =>
        {
            if (happened.EventName == "EventCounters"
                && happened.PayloadValue(0) is IDictionary<string, object> wrapper)
            {
                var counter = (IDictionary<string, object>)wrapper["Payload"];
                var value = counter.TryGetValue("Mean", out var mean) ? mean : counter["Increment"];
                values[$"{happened.ProviderName}/{counter["Name"]}"] = Convert.ToDouble(value);
            }
        };
        using var limit = new Timer(_ => session.Stop(), null, TimeSpan.FromSeconds(seconds), Timeout.InfiniteTimeSpan);
        source.Process();
        foreach (var (name, value) in values)
        {
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{name} {value}"));
        }
    }
}
