using System.Diagnostics.Tracing;

namespace Driver;

/// <summary>
/// A provider that never writes an event: a runtime can't notice by a failed write that nobody reads its session.
/// </summary>
[EventSource(Name = "Silent")]
internal sealed class Silent : EventSource
{
    private int _changes;

    /// <summary>Has the provider there for so long.</summary>
    public static void Wait(double seconds)
    {
        using var provider = new Silent();
        Console.WriteLine("ready True");
        Thread.Sleep(TimeSpan.FromSeconds(seconds));
    }

    /// <summary>Prints one line for each change, numbered: whether any session has the provider enabled.</summary>
    protected override void OnEventCommand(EventCommandEventArgs command)
    {
        Console.WriteLine($"change {++_changes} {command.Command}");
        base.OnEventCommand(command);
    }

    /// <summary>Never called.</summary>
    [Event(1)]
    private void Nothing() => WriteEvent(1);
}
