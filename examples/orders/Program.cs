using System.Diagnostics;
using Orders;

if (args.Contains("-h") || args.Contains("--help"))
{
    Console.WriteLine(Options.Usage);
    return 0;
}
Options options;
try
{
    options = Options.Parse(args);
}
catch (FormatException wrong)
{
    Console.Error.WriteLine($"orders: {wrong.Message}\n\n{Options.Usage}");
    return 2;
}

using var stop = new CancellationTokenSource();
Console.CancelKeyPress += (_, key) =>
{
    key.Cancel = true;
    stop.Cancel();
};
var ballast = Ballast.Take(options.Heap);
Console.WriteLine($"pricing {options.Rate} orders a second, process {Environment.ProcessId}");
var priced = new Worker(options).Run(stop.Token);
Console.WriteLine($"priced {priced} orders");
GC.KeepAlive(ballast);
return 0;

/// <summary>Prices orders at the rate that was asked for.</summary>
internal sealed class Worker(Options options)
{
    /// <summary>The last orders, kept for a while so that the heap has something to show.</summary>
    private readonly Order?[] _recent = new Order[10_000];

    private readonly Pricing _pricing = new(options.Discounts);

    /// <summary>Returns the number of orders priced when the time is over or <paramref name="stop"/> is set.</summary>
    public long Run(CancellationToken stop)
    {
        var clock = Stopwatch.StartNew();
        var sequence = 0L;
        while (!stop.IsCancellationRequested && clock.Elapsed.TotalSeconds < options.Seconds)
        {
            var due = (long)(clock.Elapsed.TotalSeconds * options.Rate);
            // A machine that is too slow for the rate falls behind: it still has to be told to stop.
            for (; sequence < due && !stop.IsCancellationRequested; sequence++)
            {
                PriceNext(sequence);
            }
            stop.WaitHandle.WaitOne(5);
        }
        return sequence;
    }

    private void PriceNext(long sequence)
    {
        var order = Order.MakeUp(sequence);
        _recent[sequence % _recent.Length] = order;
        OrdersEventSource.Log.Count(sequence, order, _pricing.PriceOrder(order));
    }
}
