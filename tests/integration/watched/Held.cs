namespace Watched;

/// <summary>What the application keeps when it is asked to: a known number of objects of a known type.</summary>
internal sealed class Held
{
    private const int Size = 1000;
    private static readonly List<Held> s_all = [];

    public byte[] Bytes { get; } = new byte[Size];

    /// <summary>Keeps so many more, and says what all objects take then.</summary>
    public static long Keep(int count)
    {
        for (int i = 0; i < count; ++i) s_all.Add(new Held());
        return GC.GetTotalMemory(forceFullCollection: true);
    }
}
