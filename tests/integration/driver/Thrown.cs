namespace Driver;

using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

/// What PerfView sees of the exceptions in a trace.
static class Thrown
{
    public static void Print(string file)
    {
        var converted = TraceLog.CreateFromEventPipeDataFile(file);
        using var log = new TraceLog(converted);
        foreach (var data in log.Events)
        {
            if (data is not ExceptionTraceData thrown)
            {
                continue;
            }
            var frames = new List<string>();
            for (var call = thrown.CallStack(); call is not null; call = call.Caller)
            {
                frames.Add(call.CodeAddress.FullMethodName);
            }
            Console.WriteLine($"thrown {thrown.ExceptionType} {string.Join(';', frames)}");
        }
        File.Delete(converted);
    }
}
