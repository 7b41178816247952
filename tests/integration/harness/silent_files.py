"""File systems that never answer: whoever looks something up there waits."""

# What they are mounted over, as FUSE has it.
DIRECTORY, FILE = "40000", "100000"

# Mounts one at a path, over one of the two.
SILENT_FILES = """
import ctypes, os, sys, time
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode={sys.argv[2]},user_id=0,group_id=0,allow_other"
if ctypes.CDLL(None, use_errno=True).mount(b"silent", sys.argv[1].encode(), b"fuse", 0, options.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
time.sleep(600)
"""
