"""A studio that is open: in a thread of this process, asked as its page asks it; and its page in a browser."""

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.studio import projects
from molehill.studio.guard import HEADER, new_token
from molehill.studio.places import settle_folders
from molehill.studio.serving import Studio, listen, make_server

PLANTED = 918273


def write_people(path: Path, records: int = 300) -> Path:
    """Write a file with a value that nobody else has, and a column that names people."""
    random = np.random.default_rng(11)
    people = pd.DataFrame(
        {
            "name": [f"Person {number}" for number in range(records)],
            "sex": random.choice(["f", "m"], records),
            "age": random.integers(18, 90, records),
            "town": random.choice(["Ulm", "Bonn", "Köln"], records),
            "income": random.lognormal(10, 0.6, records).round(),
        }
    )
    people.loc[7, "income"] = PLANTED
    people.to_csv(path, index=False)
    return path


class OpenStudio:
    """A studio on a port of this machine, until it is closed."""

    def __init__(self, *folders: Path):
        seen = settle_folders(folders)
        self.studio = Studio(seen, projects.open_home(seen[0]), new_token())
        self.socket = listen(0)
        self.port = self.socket.getsockname()[1]
        self.server = make_server(self.studio, self.port)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/#token={self.studio.token}"

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=1500)
        self.socket.close()

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Make a request with the headers that are given, those of the page beside them; None leaves one out."""
        own = {"host": f"127.0.0.1:{self.port}", HEADER: self.studio.token}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1500)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"content-length": str(len(content))} | own
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content or None)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def ask(self, path: str, project: str | None = None, step: str = "file", /, **fields: Any) -> dict[str, Any]:
        """Ask as the page does, and give the answer."""
        status, _, content = self.request("POST", path, {"project": project, "step": step, "fields": fields})
        assert status == 200, (status, content)
        return json.loads(content)

    def do(self, action: str, project: str | None = None, step: str = "file", /, **fields: Any) -> dict[str, Any]:
        """Do what is clicked."""
        return self.ask("/do", project, step, action=action, **fields)

    def send(self, name: str, content: bytes) -> dict[str, Any]:
        """Drop a file."""
        status, _, answer = self.request("PUT", "/upload", content, x_molehill_name=name)
        assert status == 200, (status, answer)
        return json.loads(answer)


class StudioPage:
    """The page of a studio in a browser, used as people use it."""

    def __init__(self, browser: Any, address: str):
        self.browser = browser
        browser.own = ("data:", address.partition("#")[0])
        browser.messages.clear()
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=address)
        browser.wait("document.documentElement?.classList.contains('ready')")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being done."""
        self.browser.wait("document.documentElement.getAttribute('aria-busy') !== 'true'")

    def click(self, selector: str) -> None:
        """Click on something that is there."""
        self.browser.ask(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def change(self, selector: str, value: Any) -> None:
        """Change a control, and let go of it."""
        held = "checked" if isinstance(value, bool) else "value"
        self.browser.ask(
            f"{{const own = document.querySelector({json.dumps(selector)}); own.{held} = {json.dumps(value)};"
            "own.dispatchEvent(new Event('change', {bubbles: true}));}"
        )
        self.settle()

    def slide(self, selector: str, value: float) -> None:
        """Move a slider without letting go of it."""
        self.browser.ask(
            f"{{const own = document.querySelector({json.dumps(selector)}); own.value = {value};"
            "own.dispatchEvent(new Event('input', {bubbles: true}));}"
        )
        self.settle()

    def drop(self, name: str, content: str) -> None:
        """Drop a file on the page."""
        file = f"new File([{json.dumps(content)}], {json.dumps(name)})"
        self.browser.ask(
            f"{{const given = new DataTransfer(); given.items.add({file});"
            "const fall = new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: given});"
            "document.getElementById('drop').dispatchEvent(fall);}"
        )
        self.settle()

    def text(self, selector: str = "main") -> str:
        """Give what is read there, nothing if it is not there."""
        return self.browser.ask(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    @property
    def error(self) -> str:
        """Give what the page complains of."""
        return self.text("#error")

    def go(self, step: str) -> None:
        """Go to a step."""
        self.click(f"#step-{step}")
        self.browser.wait(f"document.querySelector('#step-{step}')?.getAttribute('aria-current') === 'step'")
