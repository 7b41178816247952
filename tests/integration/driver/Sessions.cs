using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

namespace Driver;

/// <summary>What one event session brought.</summary>
/// <param name="Bytes">Length of its nettrace stream.</param>
/// <param name="Events">Orders events in it.</param>
/// <param name="Lost">Orders events that are missing, repeated or out of order, by their sequence numbers.</param>
/// <param name="Missing">Orders events that are missing between the first and the last.</param>
/// <param name="Dropped">Events, of whatever provider, that the runtime says it dropped itself.</param>
/// <param name="Whole">Whether the stream was read to its proper end.</param>
internal sealed record SessionResult(long Bytes, long Events, long Lost, long Missing, long Dropped, bool Whole)
{
    public void Print()
    {
        Console.WriteLine($"bytes {Bytes}");
        Console.WriteLine($"events {Events}");
        Console.WriteLine($"lost {Lost}");
        Console.WriteLine($"missing {Missing}");
        Console.WriteLine($"dropped {Dropped}");
        Console.WriteLine($"whole {Whole}");
    }
}

/// <summary>Event sessions of the Orders provider.</summary>
internal static class Sessions
{
    private static readonly EventPipeProvider Orders = new("Orders", EventLevel.Verbose);

    /// <summary>Reads a session for <paramref name="seconds"/>, stops it and reads it to its end.</summary>
    public static async Task<SessionResult> Collect(DiagnosticsClient client, double seconds)
    {
        using var session = await client.StartEventPipeSessionAsync([Orders], true, 256, CancellationToken.None);
        var reading = Task.Run(() => Read(session.EventStream));
        await Task.Delay(TimeSpan.FromSeconds(seconds));
        await session.StopAsync(CancellationToken.None);
        return await reading;
    }

    /// <summary>Reads a session until the runtime ends it.</summary>
    public static async Task<SessionResult> CollectUntilEnd(DiagnosticsClient client)
    {
        using var session = await client.StartEventPipeSessionAsync([Orders], true, 256, CancellationToken.None);
        Console.WriteLine("open True");
        return await Task.Run(() => Read(session.EventStream));
    }

    /// <summary>Runs sessions side by side and prints their sum.</summary>
    public static async Task PrintMany(DiagnosticsClient client, int count, double seconds)
    {
        var results = await Task.WhenAll(Enumerable.Range(0, count).Select(_ => Collect(client, seconds)));
        Console.WriteLine($"sessions {results.Length}");
        Console.WriteLine($"least-events {results.Min(one => one.Events)}");
        Console.WriteLine($"lost {results.Sum(one => one.Lost)}");
        Console.WriteLine($"whole {results.All(one => one.Whole)}");
    }

    /// <summary>Opens a session, says so, and reads what comes until it ends or the process is killed.</summary>
    public static void Hold(DiagnosticsClient client, string provider)
    {
        using var session = client.StartEventPipeSession(new EventPipeProvider(provider, EventLevel.Verbose), false);
        Console.WriteLine("open True");
        session.EventStream.CopyTo(Stream.Null);
        Console.WriteLine("ended True");
    }

    /// <summary>Reads what a tool has recorded.</summary>
    public static SessionResult ReadFile(string path)
    {
        using var file = File.OpenRead(path);
        return Read(file);
    }

    private static SessionResult Read(Stream stream)
    {
        long events = 0, lost = 0, missing = 0;
        long? last = null;
        using var counted = new CountingStream(stream);
        using var source = new EventPipeEventSource(counted);
        source.Dynamic.All += happened =>
        {
            if (happened.ProviderName != "Orders" || happened.EventName != "Priced")
            {
                return;
            }
            var sequence = Convert.ToInt64(happened.PayloadByName("sequence"));
            lost += last is null || sequence == last + 1 ? 0 : 1;
            missing += last is null ? 0 : sequence - last.Value - 1;
            last = sequence;
            events++;
        };
        bool whole;
        try
        {
            whole = source.Process();
        }
        catch (Exception broken)
        {
            Console.Error.WriteLine($"the stream broke off: {broken.Message}");
            whole = false;
        }
        return new SessionResult(counted.Total, events, lost + source.EventsLost, missing, source.EventsLost, whole);
    }
}
