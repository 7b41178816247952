using System.Diagnostics.Tracing;

namespace Talkative;

/// <summary>What the application does.</summary>
internal static class Talk
{
    /// <summary>Writes all of them again and again.</summary>
    public static void For(double seconds)
    {
        var end = DateTime.UtcNow.AddSeconds(seconds);
        Console.WriteLine($"talking {Environment.ProcessId}");
        for (var round = 0; DateTime.UtcNow < end; round++)
        {
            Manifest.Log.Numbers(round % 2 == 0, (sbyte)-round, (byte)round, (short)-round, (ushort)round, -round, (uint)round);
            Manifest.Log.Others(long.MinValue + round, ulong.MaxValue, round / 3f, -round / 7d, 'ä', Guid.NewGuid(), end);
            Manifest.Log.Texts("", $"round {round}: größer, 😀", "half of a pair: \ud83d");
            SelfDescribing.Log.Say(round);
            EventSource.SetCurrentThreadActivityId(Guid.NewGuid(), out var previous);
            Manifest.Log.WorkStart(round);
            Manifest.Log.WorkStop(round);
            EventSource.SetCurrentThreadActivityId(previous);
            Throw(round);
            StartThread(round);
            GC.Collect(0);
            Thread.Sleep(10);
        }
    }

    /// <summary>Writes more events than a session's buffers hold, once there is one, and waits to be ended.</summary>
    public static void Flood()
    {
        Console.WriteLine($"waiting {Environment.ProcessId}");
        while (!Manifest.Log.IsEnabled())
        {
            Thread.Sleep(10);
        }
        for (var round = 0; round < 400_000; round++)
        {
            Manifest.Log.Texts("more than fits", $"round {round}", "the same again and again and again");
        }
        Console.WriteLine("flooded");
        Thread.Sleep(Timeout.Infinite);
    }

    private static void Throw(int round)
    {
        try
        {
            throw new InvalidOperationException($"round {round}");
        }
        catch (InvalidOperationException)
        {
        }
    }

    private static void StartThread(int round)
    {
        var thread = new Thread(() => Manifest.Log.Texts("on another thread", $"{round}", ""));
        thread.Start();
        thread.Join();
    }
}
