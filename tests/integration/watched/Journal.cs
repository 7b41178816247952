using System.Text.Json;

namespace Watched;

/// <summary>What the application itself says it has done.</summary>
internal sealed class Journal(string path) : IDisposable
{
    private readonly StreamWriter _file = new(path) { AutoFlush = true };

    public void Write(string kind, object what)
    {
        string line = JsonSerializer.Serialize(new { kind, what });
        lock (_file) _file.WriteLine(line);
    }

    public void Dispose() => _file.Dispose();
}
