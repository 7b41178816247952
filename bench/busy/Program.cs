// Prices orders as fast as it can, so that what slows it down shows.
//
// usage: busy BUSY SLEEPING
//
// So many threads make orders up, which is memory that they allocate, and price some of them; so many others sleep. For each line that comes in, it says how many orders have been priced;
// it stops when no more lines come.
using Orders;

const int MadeUp = 500; // For each one that is priced, so that either takes a part of the time.
const int Apart = 16; // So that no two threads write to the same cache line.

var pricing = new Pricing(Pricing.MostDiscounts);
var priced = new long[int.Parse(args[0]) * Apart];
for (var i = 0; i < priced.Length; i += Apart)
{
    var own = i;
    new Thread(() => Price(own)) { IsBackground = true, Name = $"busy-{own / Apart}" }.Start();
}
for (var i = 0; i < int.Parse(args[1]); i++)
{
    new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true, Name = $"sleeping-{i}" }.Start();
}
while (Console.ReadLine() is not null)
{
    Console.WriteLine(priced.Sum());
}

void Price(int own)
{
    for (long number = own; ; number += MadeUp)
    {
        var orders = Enumerable.Range(0, MadeUp).Select(at => Order.MakeUp(number + at)).ToArray();
        GC.KeepAlive(pricing.PriceOrder(orders[0]));
        Volatile.Write(ref priced[own], priced[own] + 1);
    }
}
