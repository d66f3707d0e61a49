"""Attempts to get in: other hosts and origins, no token, other ways than the page's; and what every answer forbids."""

import http.client
import json

import pytest

from molehill.studio.guard import HEADERS, MOST_BYTES

ASKED = {"project": None, "step": "file", "fields": {}}


def test_the_page_itself_holds_nothing_and_everything_else_needs_the_token(opened):
    for path in ("/", "/studio.js", "/studio.css", "/favicon.ico"):
        status, _, content = opened.request("GET", path, x_molehill_token=None)
        assert status == 200
        assert opened.studio.token.encode() not in content
        assert b"people.csv" not in content
    for method, path in (("POST", "/view"), ("POST", "/do"), ("POST", "/ticket"), ("PUT", "/upload"), ("GET", "/any")):
        status, _, content = opened.request(method, path, ASKED, x_molehill_token=None)
        assert status == 403
        assert b"people.csv" not in content
    assert opened.request("POST", "/view", ASKED)[0] == 200


@pytest.mark.parametrize("token", ["", "x", "null", "é"])
def test_another_token_is_refused(opened, token):
    assert opened.request("POST", "/view", ASKED, x_molehill_token=token)[0] == 403
    assert opened.request("POST", "/view", ASKED, x_molehill_token=opened.studio.token[:-1])[0] == 403
    assert opened.request("POST", "/view", ASKED, x_molehill_token=opened.studio.token + "a")[0] == 403


def test_the_token_counts_nowhere_but_in_its_header(opened):
    token = opened.studio.token
    for path in (f"/view?token={token}", f"/view?x-molehill-token={token}"):
        assert opened.request("POST", path, ASKED, x_molehill_token=None)[0] == 403
    assert opened.request("POST", "/view", ASKED, x_molehill_token=None, cookie=f"token={token}")[0] == 403
    assert opened.request("POST", "/view", ASKED, x_molehill_token=None, authorization=f"Bearer {token}")[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_another_host_is_refused_also_for_the_page(opened, host):
    named = host.format(port=opened.port)
    assert opened.request("POST", "/view", ASKED, host=named)[0] == 421
    assert opened.request("GET", "/", host=named)[0] == 421


def test_localhost_is_this_machine_too_and_two_hosts_are_none(opened):
    assert opened.request("POST", "/view", ASKED, host=f"localhost:{opened.port}")[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", opened.port, timeout=1500)
    connection.putrequest("GET", "/", skip_host=True)
    for host in (f"127.0.0.1:{opened.port}", "evil.example"):
        connection.putheader("host", host)
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_a_page_from_elsewhere_is_refused_even_with_the_token(opened, origin):
    named = origin.format(port=opened.port)
    assert opened.request("POST", "/view", ASKED, origin=named)[0] == 403
    assert opened.request("OPTIONS", "/view", None, origin=named)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_says_of_the_asking_page_counts(opened, site):
    assert opened.request("POST", "/view", ASKED, sec_fetch_site=site)[0] == 403
    assert opened.request("GET", "/once/abc", None, sec_fetch_site=site)[0] == 403
    own = f"http://127.0.0.1:{opened.port}"
    assert opened.request("POST", "/view", ASKED, sec_fetch_site="same-origin", origin=own)[0] == 200


def test_every_answer_forbids_to_keep_frame_or_run_anything_else(opened):
    answers = [
        opened.request("GET", "/"),
        opened.request("POST", "/view", ASKED),
        opened.request("POST", "/view", ASKED, x_molehill_token=None),
        opened.request("GET", "/nothing"),
        opened.request("GET", "/", host="evil.example"),
    ]
    for _, headers, _ in answers:
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert "server" not in headers or "uvicorn" not in headers["server"]
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy


def test_more_than_a_form_is_not_read(opened):
    status, _, content = opened.request("POST", "/view", b"{" + b" " * MOST_BYTES + b"}")
    assert status == 413
    assert b"MiB" in content
    # One that does not say how long it is.
    connection = http.client.HTTPConnection("127.0.0.1", opened.port, timeout=1500)
    pieces = (b"x" * 2**20 for _ in range(MOST_BYTES // 2**20 + 2))
    headers = {"x-molehill-token": opened.studio.token, "transfer-encoding": "chunked"}
    try:
        connection.request("POST", "/view", pieces, headers, encode_chunked=True)
        answer = connection.getresponse()
        assert "larger" in json.loads(answer.read())["error"]
    except (BrokenPipeError, ConnectionResetError):
        pass  # It hung up in the middle, which is as good.
    finally:
        connection.close()
    assert opened.request("POST", "/view", ASKED)[0] == 200


def test_what_is_no_form_is_told_and_changes_nothing(opened):
    for body in (b"", b"[]", b"\xff", b"{", b"null", b'"text"', b"[" * 100_000):
        status, _, content = opened.request("POST", "/do", body)
        assert status == 200
        assert "error" in json.loads(content)
