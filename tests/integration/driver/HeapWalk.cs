using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Driver;

/// <summary>A walk of the garbage-collected heap, as dotnet-gcdump makes it.</summary>
internal static class HeapWalk
{
    /// <summary>GC, Type, GCHeapDump and GCHeapCollect: starting the session induces the collection.</summary>
    private const long GCHeapSnapshot = 0x1980001;

    /// <summary>Room for the walk's events in the runtime.</summary>
    private const int BufferMegabytes = 1024;

    /// <summary>Prints what the walk holds when its collection has ended.</summary>
    public static void Print(DiagnosticsClient client)
    {
        long nodes = 0, edges = 0, types = 0;
        var walked = -1;
        var ended = false;
        var provider = new EventPipeProvider("Microsoft-Windows-DotNETRuntime", EventLevel.Verbose, GCHeapSnapshot);
        using var session = client.StartEventPipeSession([provider], requestRundown: false, BufferMegabytes);
        using var counted = new CountingStream(session.EventStream);
        using var source = new EventPipeEventSource(counted);
        source.Clr.GCStart += start =>
        {
            var full = start.Depth == 2 && start.Type == GCType.NonConcurrentGC;
            if (walked < 0 && full && start.Reason == GCReason.Induced)
            {
                walked = start.Count;
            }
        };
        source.Clr.GCBulkNode += bulk => nodes += bulk.Count;
        source.Clr.GCBulkEdge += bulk => edges += bulk.Count;
        source.Clr.TypeBulkType += bulk => types += bulk.Count;
        source.Clr.GCStop += stop =>
        {
            if (stop.Count == walked && !ended)
            {
                ended = true;
                // Not from here: stopping waits for an answer, while the stream must go on being read.
                ThreadPool.QueueUserWorkItem(_ => session.Stop());
            }
        };
        source.Process();
        Console.WriteLine($"complete {ended}");
        Console.WriteLine($"nodes {nodes}");
        Console.WriteLine($"edges {edges}");
        Console.WriteLine($"types {types}");
        Console.WriteLine($"bytes {counted.Total}");
    }
}
