using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace Watched;

/// <summary>The same sum as a meter's instruments and as an EventSource's counters.</summary>
internal static class Counts
{
    private static readonly Meter s_meter = new("Watched.Meter");
    private static readonly Counter<long> s_counter = s_meter.CreateCounter<long>("watched.items", "{item}");
    private static readonly UpDownCounter<long> s_upDown = s_meter.CreateUpDownCounter<long>("watched.open");
    private static readonly Histogram<double> s_sizes = s_meter.CreateHistogram<double>("watched.sizes", "By");
    private static readonly ObservableGauge<long> s_gauge =
        s_meter.CreateObservableGauge("watched.total", () => Volatile.Read(ref s_total));
    private static long s_total;

    public static long Total => Volatile.Read(ref s_total);

    public static long Add(int by)
    {
        long total = Interlocked.Add(ref s_total, by);
        s_counter.Add(by, new KeyValuePair<string, object?>("kind", by > 10 ? "large" : "small"));
        s_upDown.Add(by);
        s_sizes.Record(by);
        CountsEventSource.Log.Added(by);
        return total;
    }
}

[EventSource(Name = "Watched.Events")]
internal sealed class CountsEventSource : EventSource
{
    public static readonly CountsEventSource Log = new();
    private IncrementingEventCounter? _rate;
    private EventCounter? _size;
    private PollingCounter? _total;

    [NonEvent]
    public void Added(int by)
    {
        _rate?.Increment(by);
        _size?.WriteMetric(by);
    }

    protected override void OnEventCommand(EventCommandEventArgs command)
    {
        if (command.Command != EventCommand.Enable) return;
        _rate ??= new("items-added", this) { DisplayName = "Items added", DisplayUnits = "item" };
        _size ??= new("item-size", this) { DisplayName = "Size of items" };
        _total ??= new("items", this, () => Counts.Total) { DisplayName = "Items" };
    }
}
