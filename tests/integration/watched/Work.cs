using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Watched;

/// <summary>What the two routes do: one keeps a processor busy, the other waits.</summary>
internal static class Work
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Burn(TimeSpan length)
    {
        Stopwatch watch = Stopwatch.StartNew();
        double sum = 0;
        for (int number = 1; watch.Elapsed < length; ++number) sum += Math.Sqrt(number);
        return $"{sum}";
    }

    /// <summary>Has the thread pool's threads wait for something that does not come.</summary>
    public static string Starve(TimeSpan length)
    {
        ManualResetEventSlim never = new();
        for (int item = 0; item < 500; ++item) ThreadPool.QueueUserWorkItem(_ => never.Wait(length));
        return "starving";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Sleep(TimeSpan length)
    {
        Thread.Sleep(length);
        return "slept";
    }
}
