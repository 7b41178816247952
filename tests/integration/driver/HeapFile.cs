using System.Reflection;
using System.Runtime.Loader;

namespace Driver;

/// <summary>A .gcdump file as Microsoft's own code reads it: dotnet-trace brings the reader of dotnet-gcdump.</summary>
internal static class HeapFile
{
    private const string Library = "Microsoft.Diagnostics.Monitoring.EventPipe";

    /// <summary>Prints what the file holds: all, what can be reached from the roots, and each type.</summary>
    public static void Print(string path, string toolDirectory)
    {
        Assembly library = new ToolContext(toolDirectory).LoadFromAssemblyName(new AssemblyName(Library));
        dynamic dump = Activator.CreateInstance(library.GetType("GCHeapDump", throwOnError: true)!, path)!;
        dynamic graph = dump.MemoryGraph;
        long reached = 0;
        Action<object> count = _ => ++reached;
        graph.BreadthFirstVisit(count);
        Console.WriteLine($"tool {dump.CreationTool}");
        Console.WriteLine($"process {dump.ProcessName}");
        Console.WriteLine($"pid {dump.ProcessID}");
        Console.WriteLine($"collected {dump.TimeCollected:O}");
        Console.WriteLine($"wide {graph.Is64Bit}");
        Console.WriteLine($"nodes {graph.NodeCount}");
        Console.WriteLine($"bytes {graph.TotalSize}");
        Console.WriteLine($"reached {reached}");
        dynamic type = graph.AllocTypeNodeStorage();
        foreach (dynamic one in graph.GetHistogramByType())
        {
            if (one.Count == 0) continue;
            type = graph.GetType(one.TypeIdx, type);
            Console.WriteLine($"type {one.Count} {one.Size} {type.ModuleName}!{type.Name}");
        }
    }

    /// <summary>Has the tool's assemblies beside the driver's own of the same names.</summary>
    private sealed class ToolContext(string directory) : AssemblyLoadContext
    {
        protected override Assembly? Load(AssemblyName name)
        {
            string path = Path.Combine(directory, name.Name + ".dll");
            return File.Exists(path) ? LoadFromAssemblyPath(path) : null;
        }
    }
}
