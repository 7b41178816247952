using System.Diagnostics;

namespace Watched;

/// <summary>A database that is told of commands, and has none.</summary>
internal static class Database
{
    private const string CommandEvents = "Microsoft.EntityFrameworkCore.Database.Command.Command";
    private static readonly DiagnosticListener s_listener = new("Microsoft.EntityFrameworkCore");

    public static void Query(string text)
    {
        var command = new { CommandText = text, Connection = new { DataSource = "db.example", Database = "orders" } };
        s_listener.Write(CommandEvents + "Executing", new { Command = command });
        s_listener.Write(CommandEvents + "Executed", new { Command = command });
    }
}
