using System.Globalization;

namespace Orders;

/// <summary>What the command line asked for.</summary>
internal sealed record Options(double Seconds, int Rate, int Heap, int Discounts)
{
    public const string Usage = """
        Prices orders until it is stopped.

          --rate N        orders per second (default 200, at most 100000)
          --discounts N   find the best set of N discounts (default 20, at most 20): most of the work
          --heap N        hold N MiB more on the heap, a quarter of them random, the rest zero
          --seconds N     stop after N seconds (default: never)
          -h, --help      show this text
        """;

    /// <summary>Reads the arguments. Throws <see cref="FormatException"/> with a sentence for the user.</summary>
    public static Options Parse(string[] arguments)
    {
        var options = new Options(double.PositiveInfinity, 200, 0, Pricing.MostDiscounts);
        for (var i = 0; i < arguments.Length; i += 2)
        {
            options = arguments[i] switch
            {
                "--seconds" => options with { Seconds = Number(arguments, i, 0, 1e9) },
                "--rate" => options with { Rate = (int)Number(arguments, i, 1, 100_000) },
                "--discounts" => options with { Discounts = (int)Number(arguments, i, 0, Pricing.MostDiscounts) },
                "--heap" => options with { Heap = (int)Number(arguments, i, 0, 100_000) },
                var other => throw new FormatException($"unknown argument {other}"),
            };
        }
        return options;
    }

    private static double Number(string[] arguments, int i, double least, double most)
    {
        if (i + 1 < arguments.Length
            && double.TryParse(arguments[i + 1], NumberStyles.Float, CultureInfo.InvariantCulture, out var value)
            && value >= least && value <= most)
        {
            return value;
        }
        throw new FormatException($"{arguments[i]} takes a number from {least} to {most}");
    }
}
