"""Who may come in: the studio's own page, on this machine, with the token of this start; and nobody else.

The token stands in the address behind #, which browsers neither send nor pass on. The page keeps it for its tab and
sends it with every request as a header. So there is no cookie that another program on this machine could be sent, and
no page from elsewhere can ask for anything: it has no token, and the browser would not let it add the header.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADER = "x-molehill-token"
# Files of the page itself, in which there is nothing of anybody's.
OPEN = ("/", "/studio.js", "/studio.css", "/favicon.ico")
# What is opened beside the page, such as a report: known by an address that works once.
ONCE = "/once/"
# A request that is no file holds a form.
MOST_BYTES = 4 * 2**20

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "cache-control": "no-store, max-age=0",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def guard(app: App, *, token: str, port: int, upload: str, most_bytes: int) -> App:
    """Let only those requests through to an app that its own page can make, and let nothing of it be kept or framed.

    Parameters
    ----------
    app
        What answers.
    token
        What a request must bring.
    port
        Where it listens: the page has no other address than this machine's.
    upload
        The path that files are sent to, of at most `most_bytes`.
    """
    hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
    origins = tuple(f"http://{host}" for host in hosts)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        most = most_bytes if scope["path"] == upload else MOST_BYTES
        refused = _refuse(scope, token, hosts, origins) or _refuse_size(scope, most)
        if refused is not None:
            await _answer(send, *refused)
            return
        await app(scope, _counted(receive, most), _with_headers(send))

    return guarded


def new_token() -> str:
    """Give a token that nobody guesses."""
    return secrets.token_urlsafe(32)


def _headers(scope: Scope, name: str) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name.encode()]


def _refuse(scope: Scope, token: str, hosts: tuple[str, ...], origins: tuple[str, ...]) -> tuple[int, str] | None:
    """Say with which status and words a request is refused; None if it is not."""
    path = scope["path"]
    # A name of elsewhere that was made to lead here has its own host.
    if _headers(scope, "host") not in [[host] for host in hosts]:
        return 421, "This is not the address of the studio."
    is_page, is_once = path in OPEN and scope["method"] in ("GET", "HEAD"), path.startswith(ONCE)
    sites = _headers(scope, "sec-fetch-site")
    if any(origin not in origins for origin in _headers(scope, "origin")):
        return 403, "Another page asked for this."
    if not is_page and any(site not in ("same-origin", "none") for site in sites):
        return 403, "Another page asked for this."
    if is_page or is_once:
        return None
    given = _headers(scope, HEADER)
    if len(given) != 1 or not secrets.compare_digest(given[0].encode(), token.encode()):
        return 403, "Open the address that `molehill studio` printed."
    return None


def _refuse_size(scope: Scope, most: int) -> tuple[int, str] | None:
    lengths = _headers(scope, "content-length")
    too_long = any(not length.isdecimal() or int(length) > most for length in lengths)
    return (413, f"More than the {most / 2**20:,.0f} MiB that the studio takes.") if too_long else None


class TooLargeError(Exception):
    """A request goes on for longer than it may."""


def _counted(receive: Receive, most: int) -> Receive:
    """Stop listening to a request that does not say how long it is, and is too long."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            # What an answer says itself, such as the policy of a report, stays.
            own = {key for key, _ in message["headers"]}
            added = [(key.encode(), value.encode()) for key, value in HEADERS.items() if key.encode() not in own]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return dressed


async def _answer(send: Send, status: int, words: str) -> None:
    send, body = _with_headers(send), words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
