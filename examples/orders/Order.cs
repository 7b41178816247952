namespace Orders;

/// <summary>One line of an order: so many of one article.</summary>
internal sealed record OrderLine(string Article, int Quantity, decimal UnitPrice);

/// <summary>What a customer wants to buy.</summary>
internal sealed record Order(long Number, string Customer, OrderLine[] Lines)
{
    /// <summary>Makes up an order; the same number always gives the same order.</summary>
    public static Order MakeUp(long number)
    {
        var random = new Random(unchecked((int)number));
        var lines = new OrderLine[random.Next(2, 9)];
        for (var i = 0; i < lines.Length; i++)
        {
            var article = $"article-{random.Next(10_000):D4}";
            lines[i] = new OrderLine(article, random.Next(1, 50), random.Next(100, 99_999) / 100m);
        }
        return new Order(number, $"customer-{random.Next(1_000):D3}", lines);
    }
}
