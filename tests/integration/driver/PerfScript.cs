namespace Driver;

using Microsoft.Diagnostics.Tracing.Stacks;
using Microsoft.Diagnostics.Tracing.StackSources;

/// What PerfView sees in a file of `perf script`'s form: a line `sample MILLISECONDS METRIC FRAME;…;FRAME` for each
/// sample, the outermost frame first.
static class PerfScript
{
    public static void Print(string file)
    {
        var source = new LinuxPerfScriptStackSource(file, doThreadTime: false);
        source.ForEach(sample =>
        {
            var frames = new List<string>();
            for (var stack = sample.StackIndex; stack != StackSourceCallStackIndex.Invalid; stack = source.GetCallerIndex(stack))
            {
                frames.Add(source.GetFrameName(source.GetFrameIndex(stack), verboseName: false));
            }
            frames.Reverse();
            Console.WriteLine($"sample {sample.TimeRelativeMSec:F3} {sample.Metric} {string.Join(';', frames)}");
        });
    }
}
