using System.Diagnostics.Tracing;

namespace Orders;

/// <summary>
/// The application's own events. <c>Priced</c> carries a sequence number that grows by one with each event, so
/// that a reader can tell whether any was lost.
/// </summary>
[EventSource(Name = "Orders")]
internal sealed class OrdersEventSource : EventSource
{
    public static readonly OrdersEventSource Log = new();

    private readonly EventCounter _price;
    private readonly IncrementingEventCounter _orders;
    private readonly PollingCounter _largest;
    private double _largestPrice;

    private OrdersEventSource()
    {
        _price = new EventCounter("price", this) { DisplayName = "Price of an order" };
        _orders = new IncrementingEventCounter("orders", this) { DisplayName = "Orders priced" };
        _largest = new PollingCounter("largest-price", this, () => Volatile.Read(ref _largestPrice))
        {
            DisplayName = "Largest price so far",
        };
    }

    /// <summary>Counts a priced order, and writes the event when somebody listens.</summary>
    [NonEvent]
    public void Count(long sequence, Order order, decimal price)
    {
        var value = (double)price;
        _price.WriteMetric(value);
        _orders.Increment();
        if (value > _largestPrice)
        {
            Volatile.Write(ref _largestPrice, value);
        }
        if (IsEnabled())
        {
            Priced(sequence, order.Customer, value);
        }
    }

    [Event(1, Level = EventLevel.Informational, Message = "Order {0} of {1} costs {2}")]
    private void Priced(long sequence, string customer, double price) => WriteEvent(1, sequence, customer, price);

    protected override void Dispose(bool disposing)
    {
        _price.Dispose();
        _orders.Dispose();
        _largest.Dispose();
        base.Dispose(disposing);
    }
}
