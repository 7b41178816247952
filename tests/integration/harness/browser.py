"""A browser, driven by the DevTools protocol over its pipe: a JSON text and a NUL for each message
(https://chromedevtools.github.io/devtools-protocol/)."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from harness import needs, wait

READ_BYTES = 1 << 20


class Browser:
    """Chromium without a window, with one page."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="fpt-browser-")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # Its sandbox is of no use to root, and it has nothing to look up.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", needs.program("chromium"), "--headless", "--no-sandbox",
             "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.directory}", "--window-size=1400,820",
             "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffered = b""
        self.last_id = 0
        self.events = []
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=self._page(), flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        """Ends it, and removes what it has left."""
        self.process.terminate()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _page(self):
        def first():
            targets = self.call("Target.getTargets")["targetInfos"]
            return next((target["targetId"] for target in targets if target["type"] == "page"), None)
        return wait.until(first, "the browser has a page")

    def call(self, method, **parameters):
        """What it answers to a command. Events that come before the answer are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self):
        deadline = time.monotonic() + wait.LONGEST_SECONDS
        while b"\0" not in self.buffered:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self.answers, READ_BYTES) if ready else b""
            if not part:
                raise AssertionError("the browser says nothing")
            self.buffered += part
        message, self.buffered = self.buffered.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, fragment=""):
        """Loads a file, anew."""
        self._load("about:blank")
        self._load(f"file://{path}{fragment}")

    def _load(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def eval(self, expression):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self, element):
        """What an element says, by its id."""
        return self.eval(f"document.getElementById({json.dumps(element)}).textContent")

    def move(self, x, y):
        """The mouse, there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        """The mouse's button, there."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        """A key, such as ArrowUp."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        """Into whatever has the focus."""
        self.call("Input.insertText", text=text)

    def complaints(self):
        """What the page's console has of errors and warnings since it was opened."""
        self.eval("0")
        return [event for event in self.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]

    def fetched(self):
        """What it has asked for since."""
        self.eval("0")
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
