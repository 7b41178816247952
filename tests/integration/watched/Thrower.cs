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

    /// <summary>Throws by a method that has not run before, and catches it. There are four.</summary>
    public static void CatchNew(int number)
    {
        try
        {
            Action thrower = number switch
            {
                0 => New<byte>.Throw,
                1 => New<short>.Throw,
                2 => New<int>.Throw,
                3 => New<long>.Throw,
                _ => throw new ArgumentOutOfRangeException(nameof(number)),
            };
            thrower();
        }
        catch (OrderException)
        {
            // That it was thrown is all that is wanted.
        }
    }

    /// <summary>Each has code of its own, which is compiled when it first runs.</summary>
    private static class New<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Throw() => throw new OrderException($"new {typeof(T).Name}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw(string message) => throw new OrderException(message);
}
