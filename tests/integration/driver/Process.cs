using System.Reflection;
using Microsoft.Diagnostics.NETCore.Client;

namespace Driver;

/// <summary>Commands about the process as such.</summary>
internal static class Process
{
    /// <summary>Prints every field of the answer. The library keeps the method to itself and its own tools.</summary>
    public static void PrintInfo(DiagnosticsClient client)
    {
        const BindingFlags internals = BindingFlags.Instance | BindingFlags.NonPublic;
        var method = typeof(DiagnosticsClient).GetMethod("GetProcessInfo", internals)
            ?? throw new MissingMethodException("DiagnosticsClient.GetProcessInfo");
        object info;
        try
        {
            info = method.Invoke(client, null)!;
        }
        catch (TargetInvocationException invocation) when (invocation.InnerException is not null)
        {
            throw invocation.InnerException;
        }
        foreach (var property in info.GetType().GetProperties())
        {
            Console.WriteLine($"{property.Name} {property.GetValue(info)}");
        }
    }

    public static void PrintEnvironment(DiagnosticsClient client)
    {
        foreach (var (name, value) in client.GetProcessEnvironment())
        {
            Console.WriteLine($"{name} {value}");
        }
    }
}
