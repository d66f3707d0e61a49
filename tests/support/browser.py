"""Chromium without a window, driven by its own protocol over two pipes: no driver and no other library is needed."""

import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Only ends a test that would hang.
_PATIENCE = 1500.0
# The page is still when so many frames in a row have changed nothing of it: counted by the page, on any machine.
_STILL = """new Promise(done => {
    let frames = 0;
    const seen = new MutationObserver(() => { frames = 0; });
    seen.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    const look = () => {
        frames += 1;
        if (frames > 10) { seen.disconnect(); done(); } else { requestAnimationFrame(look); }
    };
    requestAnimationFrame(look);
})"""


class Browser:
    """One page of a headless Chromium. What the page logs, throws, opens or loads is collected in `messages`."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_end, self._write = os.pipe()
        self._read, write_end = os.pipe()
        switches = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        switches += ["--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}"]
        # Chromium reads commands from descriptor 3 and writes to 4; they are set in the child by a shell.
        command = f'exec "$@" 3<&{read_end} 4>&{write_end}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(CHROMIUM), *switches, "about:blank"],
            pass_fds=(read_end, write_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        self._number, self._left, self.messages, self._session = 0, b"", [], None
        # What may be loaded; anything else is noted.
        self.own = ("file:", "data:")
        pages = [page for page in self.call("Target.getTargets")["targetInfos"] if page["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self._process.terminate()
        self._process.wait(timeout=_PATIENCE)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method, **parameters):
        """Send a command and give its result."""
        number = self._send(method, parameters)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def reset(self):
        """Be as if just started: an empty page of usual looks, with scripts, that may load only files."""
        self.own = ("file:", "data:")
        self.call("Emulation.setScriptExecutionDisabled", value=False)
        self.look()
        self.call("Page.navigate", url="about:blank")
        self.messages.clear()

    def open(self, path, *, width=1200, height=900, dark=False, scripts=True):
        """Open a file from disk and wait until its figures are drawn."""
        self.messages.clear()
        self.look(width=width, height=height, dark=dark)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        ready = (
            "document.documentElement?.classList.contains('ready')" if scripts else "document.readyState == 'complete'"
        )
        self.wait(ready)

    def look(self, *, width=1200, height=900, dark=False):
        """Take a screen of a size, light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])

    def wait(self, expression):
        """Wait until an expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.ask(expression):
            assert time.monotonic() < end, f"{expression} does not come; the page said {self.messages}"
            time.sleep(0.02)

    def settle(self):
        """Wait until the page has changed nothing of itself for some frames."""
        self.ask(_STILL)

    def ask(self, expression):
        """Evaluate an expression in the page; a promise is waited for."""
        how = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        result = self.call("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def print(self):
        """Give the page as the bytes of a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def photograph(self, path, *, top=0, height=None):
        """Write a picture of the page, or of a part of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top, "scale": 1}
        taken = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(taken["data"]))

    def _send(self, method, parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._write, content) :]
        return self._number

    def _receive(self):
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            assert ready, "Chromium does not answer"
            content = os.read(self._read, 1 << 20)
            assert content, "Chromium has gone"
            self._left += content
        message, self._left = self._left.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        method, about = event.get("method", ""), event.get("params", {})
        if method in {
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        }:
            self.messages.append((method, about))
            if method == "Page.javascriptDialogOpening":
                # Its answer is not waited for: this may be in the middle of another command.
                self._send("Page.handleJavaScriptDialog", {"accept": True})
        if method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(self.own):
            self.messages.append((method, about["request"]["url"]))


@cache
def _started():
    started = Browser()
    atexit.register(started.close)
    return started


def shared_browser():
    """Give the one browser of this process, as if just started."""
    started = _started()
    started.reset()
    return started
