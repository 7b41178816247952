using System.Diagnostics.Tracing;

namespace Talkative;

/// <summary>Events whose fields are those of their methods.</summary>
[EventSource(Name = "Talkative")]
internal sealed class Manifest : EventSource
{
    public static readonly Manifest Log = new();

    public static class Keywords
    {
        public const EventKeywords Numbers = (EventKeywords)0x10;
    }

    [Event(1, Level = EventLevel.Verbose, Keywords = Keywords.Numbers)]
    public void Numbers(bool flag, sbyte s8, byte u8, short s16, ushort u16, int s32, uint u32) =>
        WriteEvent(1, flag, s8, u8, s16, u16, s32, u32);

    [Event(2, Version = 3)]
    public void Others(long s64, ulong u64, float single, double twice, char letter, Guid id, DateTime moment) =>
        WriteEvent(2, s64, u64, single, twice, letter, id, moment);

    [Event(3)]
    public void Texts(string first, string second, string third) => WriteEvent(3, first, second, third);

    [Event(4)]
    public void WorkStart(int round) => WriteEvent(4, round);

    [Event(5)]
    public void WorkStop(int round) => WriteEvent(5, round);
}

/// <summary>Events whose fields are those of an object: arrays and structures, too.</summary>
internal sealed class SelfDescribing : EventSource
{
    public static readonly SelfDescribing Log = new();

    private SelfDescribing()
        : base("SelfDescribing", EventSourceSettings.EtwSelfDescribingEventFormat)
    {
    }

    [Event(1)]
    public void Arrays(int[] numbers, long[] none, byte[] bytes, double[] fractions, string last) =>
        WriteEvent(1, numbers, none, bytes, fractions, last);

    [NonEvent]
    public void Say(int round)
    {
        Arrays([round, -1], [], [1, 2, 3], [0.5, double.NaN], "last");
        Write("Structures", new { Inner = new { Number = round, Text = "within" }, Last = 'z' });
        Write("Lists", new { Pairs = new[] { new { Key = "k", Value = 1 }, new { Key = "l", Value = 2 } } });
        Write("Dictionaries", new { Map = new Dictionary<string, string> { ["k"] = "v" } });
    }
}
