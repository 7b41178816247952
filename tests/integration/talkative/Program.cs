// An application whose events have fields of every type, and which throws, collects and starts threads.
//
//   talkative SECONDS    for so long
//   talkative flood      writes more events than a session's buffers hold, once there is one
using System.Globalization;
using Talkative;

if (args is ["flood"])
{
    Talk.Flood();
    return 0;
}
if (args is [var seconds] && double.TryParse(seconds, CultureInfo.InvariantCulture, out var number))
{
    Talk.For(number);
    return 0;
}
Console.Error.WriteLine("usage: talkative SECONDS | talkative flood");
return 2;
