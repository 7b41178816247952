"""The tunnels that are compared, each as a pair of ends around one TCP connection on loopback."""

from .direct import Direct
from .farport import Farport, FarportLimited, FarportStdio, FarportUnaudited
from .haproxy import Haproxy
from .hitch import Hitch
from .socat import Socat
from .ssh import Ssh
from .stunnel import Stunnel

ALL = [Direct, Socat, Stunnel, Haproxy, Hitch, Ssh, Farport, FarportLimited, FarportStdio, FarportUnaudited]
