using System.Runtime.CompilerServices;

namespace Orders;

/// <summary>
/// Finds the price of an order: the total less the best set of so many discounts. The methods are kept from being
/// inlined, so that each has a frame of its own in a trace.
/// </summary>
internal sealed class Pricing(int discounts)
{
    public const int MostDiscounts = 20;

    private static readonly decimal[] All =
    [
        0.010m, 0.015m, 0.020m, 0.025m, 0.030m, 0.035m, 0.040m, 0.045m, 0.050m, 0.055m,
        0.060m, 0.065m, 0.070m, 0.075m, 0.080m, 0.085m, 0.090m, 0.095m, 0.100m, 0.105m,
    ];

    private readonly decimal[] _discounts = All[..discounts];

    /// <summary>The price to pay.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public decimal PriceOrder(Order order)
    {
        var total = AddUpLines(order.Lines);
        return Math.Round(BestDiscount(total, 0, 0m), 2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static decimal AddUpLines(OrderLine[] lines)
    {
        var total = 0m;
        foreach (var line in lines)
        {
            total += line.Quantity * line.UnitPrice;
        }
        return total;
    }

    /// <summary>Tries every set of discounts from <paramref name="next"/> on, up to a quarter in all.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private decimal BestDiscount(decimal total, int next, decimal given)
    {
        if (next == _discounts.Length)
        {
            return total * (1m - given);
        }
        var without = BestDiscount(total, next + 1, given);
        var together = given + _discounts[next];
        return together > 0.25m ? without : Math.Min(without, BestDiscount(total, next + 1, together));
    }
}
