using System.Runtime.CompilerServices;

namespace Watched;

internal sealed class OrderException(string message) : Exception(message);

internal static class Thrower
{
    /// <summary>What was thrown, for the journal.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static object Catch(string message)
    {
        try
        {
            Throw(message);
            return new();
        }
        catch (OrderException thrown)
        {
            return new { type = thrown.GetType().FullName, message = thrown.Message, hresult = (uint)thrown.HResult };
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw(string message) => throw new OrderException(message);
}
