namespace Orders;

/// <summary>Memory that is only held, for dumps of a size worth looking at.</summary>
internal static class Ballast
{
    private const int MiB = 1024 * 1024;

    /// <summary>Arrays of one MiB each: a quarter of each is random, the rest zero.</summary>
    public static byte[][] Take(int mebibytes)
    {
        var random = new Random(1);
        var arrays = new byte[mebibytes][];
        for (var i = 0; i < arrays.Length; i++)
        {
            arrays[i] = new byte[MiB];
            random.NextBytes(arrays[i].AsSpan(0, MiB / 4));
        }
        return arrays;
    }
}
