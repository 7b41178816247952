// Keeps the processor busy where a profile has to find it: in a native library that it is given, in threads that come
// and go, or by reading from the kernel; and may keep
// much memory. Says what it is about to do, and does it until it is stopped.
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Hotspot;

var options = new Dictionary<string, string>();
for (var i = 0; i + 1 < args.Length; i += 2)
{
    options[args[i]] = args[i + 1];
}

for (var i = 0; i < int.Parse(options.GetValueOrDefault("--sleepers", "0")); i++)
{
    new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true, Name = $"sleeper-{i}" }.Start();
}

// Each has a reference to another.
var held = new Held?[int.Parse(options.GetValueOrDefault("--objects", "0"))];
for (var i = 0; i < held.Length; i++)
{
    held[i] = new Held(i > 0 ? held[i - 1] : null);
}

// Memory that the application uses, in MiB.
var ballast = new byte[int.Parse(options.GetValueOrDefault("--ballast", "0"))][];
for (var i = 0; i < ballast.Length; i++)
{
    ballast[i] = new byte[1 << 20];
    Array.Fill(ballast[i], (byte)i);
}

var kind = options.GetValueOrDefault("--busy", "managed");
if (options.TryGetValue("--library", out var library))
{
    NativeLibrary.SetDllImportResolver(Assembly.GetExecutingAssembly(), (_, _, _) => NativeLibrary.Load(library));
}
var until = DateTime.UtcNow.AddSeconds(double.Parse(options.GetValueOrDefault("--seconds", "600")));
var rest = TimeSpan.FromMilliseconds(int.Parse(options.GetValueOrDefault("--rest", "0")));
Console.WriteLine($"busy: {kind}");
// By the clock: how much a processor computes meanwhile differs by ten times, and a profile counts what took time.
var round = TimeSpan.FromMilliseconds(50);
var began = Stopwatch.StartNew();
for (var number = 0; DateTime.UtcNow < until; number++)
{
    switch (kind)
    {
        case "native":
            Work.Native();
            break;
        case "kernel":
            Work.Kernel();
            break;
        case "newcomers":
            // Each is the only one that works, and is gone soon.
            var newcomer = new Thread(Work.Managed) { Name = $"newcomer-{number % 1000}" };
            newcomer.Start();
            newcomer.Join();
            break;
        default:
            Work.Managed();
            break;
    }
    // Where it is enough that nothing else is busy, others may have the processor.
    if (began.Elapsed >= round)
    {
        Thread.Sleep(rest);
        began.Restart();
    }
}

GC.KeepAlive(held);
GC.KeepAlive(ballast);

namespace Hotspot
{
    internal sealed class Held(Held? before)
    {
        public readonly Held? Before = before;
    }

    internal static class Work
    {
        [DllImport("hotspot_library")]
        private static extern long hotspot_in_the_library(long rounds);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Native() => hotspot_in_the_library(50_000_000);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Kernel()
        {
            using var zeros = File.OpenHandle("/dev/zero");
            Span<byte> buffer = new byte[1 << 20];
            for (var i = 0; i < 200; i++)
            {
                RandomAccess.Read(zeros, buffer, 0);
            }
            // A little outside of the kernel, for who may see no more than that.
            Sum(2_000_000);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Managed() => Sum(20_000_000);

        private static void Sum(int rounds)
        {
            var sum = 0.0;
            for (var i = 1; i < rounds; i++)
            {
                sum += 1.0 / i;
            }
            GC.KeepAlive(sum);
        }
    }
}
