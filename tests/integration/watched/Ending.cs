using System.Runtime.CompilerServices;

namespace Watched;

/// <summary>Ways in which a process ends by itself.</summary>
internal static class Ending
{
    private static readonly TimeSpan s_untilThen = TimeSpan.FromMilliseconds(500);

    /// <summary>Ends the process a moment later, so that this call is answered.</summary>
    public static void Begin(string how)
    {
        Action end = how switch
        {
            "exception" => () => throw new InvalidOperationException("nobody catches this"),
            "failfast" => () => Environment.FailFast("it fails fast"),
            "overflow" => () => Overflow(0),
            "exit" => () => Environment.Exit(3),
            "done" => () => Environment.Exit(0),
            _ => throw new ArgumentException($"unknown way to end: {how}"),
        };
        // What is compiled in the last tenths of a second may have no name: the runtime tells it every 100 ms.
        RuntimeHelpers.PrepareDelegate(end);
        new Thread(() =>
        {
            Thread.Sleep(s_untilThen);
            end();
        }).Start();
    }

    private static int Overflow(int depth) => Overflow(depth + 1) + depth;
}
