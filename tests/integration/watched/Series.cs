using System.Diagnostics.Metrics;

namespace Watched;

/// <summary>Series that are easily taken for one another.</summary>
internal static class Series
{
    private static readonly Meter s_meter = new("Watched.Series");
    private static readonly Counter<long> s_hits = s_meter.CreateCounter<long>("hits");
    private static readonly Meter[] s_bound =
    [
        Bound("::", null, 7),
        Bound("0.0.0.0", null, 9000),
        // Of the first one's name and tags.
        Bound("::", "2.0", 1),
    ];

    static Series()
    {
        s_meter.CreateObservableGauge("cleaned.name", () => 1);
        s_meter.CreateObservableGauge("cleaned_name", () => 2);
    }

    /// <summary>Counts one for each series, and returns how many series there are of all instruments.</summary>
    public static int Hit()
    {
        KeyValuePair<string, object?>[][] all =
        [
            [new("plain", "simple"), new("comma", "a,b,c"), new("equals", "x=1"), new("url", "/api/items?filter=red,blue&sort=name")],
            // What a stranger may send.
            [new("route", "/x,tenant=evil,route=/admin"), new("comma", "zz")],
            // What the agent's own labels are called.
            [new("id", "1"), new("runtime", "mine"), new("pid", 2)],
            [new("user.name", "x"), new("user_name", "y")],
            [new("empty", "")],
            [],
        ];
        foreach (KeyValuePair<string, object?>[] tags in all)
        {
            s_hits.Add(1, tags);
        }

        const int CleanedNames = 2;
        return all.Length + CleanedNames + s_bound.Length;
    }

    private static Meter Bound(string address, string? version, long queued)
    {
        Meter meter = new(new MeterOptions("Watched.Bound") { Version = version, Tags = [new("bind", address)] });
        meter.CreateObservableGauge("queue", () => queued);
        return meter;
    }
}
