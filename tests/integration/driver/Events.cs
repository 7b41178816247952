using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Diagnostics.Tracing;

namespace Driver;

/// <summary>
/// Prints every event of a trace as Microsoft's library reads it, in the form of tests/nettrace_dump. What the library
/// keeps to itself (exact timestamps, stacks) is taken from the EVENT_RECORD that it makes of each.
/// </summary>
internal static unsafe class Events
{
    private const ushort RelatedActivity = 1, Stack32 = 5, Stack64 = 6;

    private static readonly FieldInfo RecordField =
        typeof(TraceEvent).GetField("eventRecord", BindingFlags.Instance | BindingFlags.NonPublic)!;
    private static readonly FieldInfo StartField =
        typeof(TraceEventSource).GetField("sessionStartTimeQPC", BindingFlags.Instance | BindingFlags.NonPublic)!;

    /// <summary>Windows' EVENT_RECORD.</summary>
    [StructLayout(LayoutKind.Explicit)]
    private struct Record
    {
        [FieldOffset(8)] public int Thread;
        [FieldOffset(12)] public int Process;
        [FieldOffset(16)] public long Ticks;
        [FieldOffset(40)] public ushort Id;
        [FieldOffset(42)] public byte Version;
        [FieldOffset(44)] public byte Level;
        [FieldOffset(45)] public byte Opcode;
        [FieldOffset(48)] public ulong Keywords;
        [FieldOffset(64)] public Guid Activity;
        [FieldOffset(80)] public byte Processor;
        [FieldOffset(84)] public ushort ExtensionCount;
        [FieldOffset(86)] public ushort PayloadSize;
        [FieldOffset(88)] public Extension* Extensions;
        [FieldOffset(96)] public byte* Payload;
    }

    /// <summary>Windows' EVENT_HEADER_EXTENDED_DATA_ITEM.</summary>
    [StructLayout(LayoutKind.Explicit)]
    private struct Extension
    {
        [FieldOffset(2)] public ushort Kind;
        [FieldOffset(6)] public ushort Size;
        [FieldOffset(8)] public byte* Data;
    }

    /// <summary>Prints the events of <paramref name="path"/>, and totals.</summary>
    public static void Print(string path, TextWriter to)
    {
        using var source = new EventPipeEventSource(path);
        var start = (long)StartField.GetValue(source)!;
        long events = 0, stacks = 0;
        // Whoever asks for these has them decoded by the trace's own definitions.
        source.Dynamic.All += _ => { };
        source.AllEvents += happened =>
        {
            events++;
            var record = (Record*)Pointer.Unbox(RecordField.GetValue(happened)!);
            var stack = StackOf(record);
            stacks += stack.Length > 0 ? 1 : 0;
            to.WriteLine(Line(happened, record, stack, start));
        };
        source.Process();
        to.WriteLine($"events {events}\nstacks {stacks}\ndropped {source.EventsLost}");
    }

    private static string Line(TraceEvent happened, Record* record, string stack, long start)
    {
        var time = (happened.TimeStamp.ToUniversalTime() - DateTime.UnixEpoch).Ticks;
        var payload = new ReadOnlySpan<byte>(record->Payload, record->PayloadSize);
        var dynamic = happened.GetType().Name == "DynamicTraceEventData";
        var name = dynamic ? happened.EventName.Replace("/", "", StringComparison.Ordinal) : "-";
        return string.Create(CultureInfo.InvariantCulture,
            $"event {happened.ProviderName} {record->Id} {name} time={time} ticks={record->Ticks - start}"
            + $" thread={(uint)record->Thread} process={(uint)record->Process} processor={record->Processor}"
            + $" keywords={record->Keywords:x} level={record->Level} version={record->Version} opcode={record->Opcode}"
            + $" activity={record->Activity} related={RelatedOf(record)} stack={stack}"
            + $" payload={payload.Length} {Digest(payload):x16} fields={(dynamic ? Fields(happened) : "{}")}");
    }

    private static Extension* Find(Record* record, ushort kind, ushort other)
    {
        for (var at = 0; at < record->ExtensionCount; at++)
        {
            if (record->Extensions[at].Kind == kind || record->Extensions[at].Kind == other)
            {
                return &record->Extensions[at];
            }
        }
        return null;
    }

    private static Guid RelatedOf(Record* record)
    {
        var found = Find(record, RelatedActivity, RelatedActivity);
        return found == null ? Guid.Empty : *(Guid*)found->Data;
    }

    private static string StackOf(Record* record)
    {
        var found = Find(record, Stack64, Stack32);
        if (found == null)
        {
            return "";
        }
        // Eight bytes are in front that nobody uses.
        var size = found->Kind == Stack64 ? 8 : 4;
        var addresses = Enumerable.Range(0, (found->Size - 8) / size).Select(at => Address(found->Data + 8, at, size));
        return string.Join(",", addresses.Select(address => address.ToString("x", CultureInfo.InvariantCulture)));
    }

    private static ulong Address(byte* addresses, int at, int size) =>
        size == 8 ? ((ulong*)addresses)[at] : ((uint*)addresses)[at];

    /// <summary>FNV-1a, 64 bits.</summary>
    private static ulong Digest(ReadOnlySpan<byte> bytes)
    {
        var hash = 0xcbf29ce484222325;
        foreach (var one in bytes)
        {
            hash = unchecked((hash ^ one) * 0x100000001b3);
        }
        return hash;
    }

    private static string Fields(TraceEvent happened)
    {
        var text = new StringBuilder("{");
        for (var at = 0; at < happened.PayloadNames.Length; at++)
        {
            text.Append(Hex(happened.PayloadNames[at])).Append('=').Append(Text(happened.PayloadValue(at))).Append(';');
        }
        return text.Append('}').ToString();
    }

    private static string Hex(string text) => Convert.ToHexStringLower(Encoding.UTF8.GetBytes(text));

    private static string Text(object value) => value switch
    {
        bool flag => flag ? "true" : "false",
        string text => $"'{Hex(text)}'",
        char letter => $"'{Hex(letter.ToString())}'",
        float number => Text((double)number),
        double number => $"d{BitConverter.DoubleToUInt64Bits(number):x16}",
        DateTime moment => $"t{moment.ToFileTimeUtc()}",
        byte[] bytes => "x" + Convert.ToHexStringLower(bytes),
        IDictionary<string, object> members =>
            "{" + string.Concat(members.Select(member => $"{Hex(member.Key)}={Text(member.Value)};")) + "}",
        Array array => "[" + string.Concat(array.Cast<object>().Select(element => Text(element) + ";")) + "]",
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };
}
