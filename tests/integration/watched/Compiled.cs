using System.Reflection;
using System.Reflection.Emit;

namespace Watched;

/// <summary>Methods by the thousand, which the runtime compiles one after another.</summary>
internal static class Compiled
{
    private static Action? first;

    /// <summary>Makes a method First and others, whose names can't be compressed well, and calls them.</summary>
    public static void Make(int count)
    {
        var type = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Compiled"), AssemblyBuilderAccess.Run)
            .DefineDynamicModule("Compiled").DefineType("Watched.Made", TypeAttributes.Public);
        var code = Method(type, "First");
        code.Emit(OpCodes.Ldstr, "thrown by the first");
        code.Emit(OpCodes.Newobj, typeof(InvalidOperationException).GetConstructor([typeof(string)])!);
        code.Emit(OpCodes.Throw);
        var random = new Random(1);
        for (var number = 0; number < count; number++)
        {
            Method(type, $"Next{number}_{random.NextInt64():x}").Emit(OpCodes.Ret);
        }
        var made = type.CreateType();
        first = made.GetMethod("First")!.CreateDelegate<Action>();
        Throw();
        foreach (var next in made.GetMethods(BindingFlags.Public | BindingFlags.Static).Where(each => each.Name != "First"))
        {
            next.CreateDelegate<Action>()();
        }
    }

    /// <summary>Has the first one throw.</summary>
    public static void Throw()
    {
        try
        {
            first!();
        }
        catch (InvalidOperationException)
        {
        }
    }

    private static ILGenerator Method(TypeBuilder type, string name) =>
        type.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static, typeof(void), []).GetILGenerator();
}
