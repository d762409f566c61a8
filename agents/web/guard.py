"""Refuses requests from strangers: checks hosts, origins, the token and the size of bodies.

Another site's page in the same browser can send requests to a server on the loopback. Three checks
refuse it: ``Host``, which is another name if that site's name was pointed here (DNS rebinding);
``Origin``, which every browser sends with a POST; and the JSON content type, which a form cannot
send.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.web.protocol import MOST_BYTES, BadRequest

COOKIE = "thud-token"
EVERYWHERE = {"0.0.0.0", "::"}
"""Hosts that stand for all addresses of this machine."""
_SECONDS_FOR_A_BODY = 10
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """An ASGI app in front of another, which refuses requests that must not reach it.

    Args:
        app: the app behind it.
        hosts: the names that the server answers to, in lower case, without a port. Numeric
            addresses other than these are refused too; but with ``0.0.0.0`` or ``::`` among them,
            which stand for all addresses of this machine, the one that was reached is answered.
        token: the token that a client must send, or None. It comes in the address of the page,
            ``/?token=...``, and from then on in a cookie.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], token: str | None = None) -> None:
        self._app, self._hosts, self._token = app, frozenset(hosts), token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":  # a WebSocket: not served
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            self._check(scope)
            answer = self._welcome(scope)
            if answer is None and scope["method"] == "POST":
                receive = _again(await _body(receive, Headers(scope=scope)), receive)
        except BadRequest as error:
            answer = JSONResponse({"error": str(error)}, error.status, {"Connection": "close"})
        await (answer or self._app)(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = host.lower().rpartition(":")[0] if _has_port(host) else host.lower()
        is_own = name in self._hosts or self._is_where_it_came(name, scope)
        if len(headers.getlist("host")) != 1 or not is_own:
            raise BadRequest("this server does not answer to that name", 421)
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host.lower()}":
            raise BadRequest("this page comes from elsewhere", 403)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise BadRequest("this request comes from elsewhere", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise BadRequest("GET and POST are answered", 405)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            raise BadRequest("the body must be application/json", 415)

    def _is_where_it_came(self, name: str, scope: Scope) -> bool:
        """Whether a host is the address at which this request reached a server of all addresses. It
        is a number, so DNS rebinding, which needs a name, gains nothing.
        """
        if not self._hosts & EVERYWHERE or not scope.get("server"):
            return False
        try:
            named = ipaddress.ip_address(name.strip("[]"))
            reached = ipaddress.ip_address(scope["server"][0])
        except ValueError:
            return False
        return named == (getattr(reached, "ipv4_mapped", None) or reached)

    def _welcome(self, scope: Scope) -> Response | None:
        """None if the client has the cookie; a redirect that sets it if the address has the token.

        Raises:
            BadRequest: if it has neither.
        """
        if self._token is None:
            return None
        shown = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if secrets.compare_digest(shown.encode(), self._token.encode()):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
            return answer
        try:
            cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        held = cookies[COOKIE].value if COOKIE in cookies else ""
        if not secrets.compare_digest(held.encode(), self._token.encode()):
            raise BadRequest("open the address that the server printed, with its token", 403)
        return None


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")


async def _body(receive: Receive, headers: Headers) -> bytes:
    """The body of a request, refused as soon as it is too long or too slow."""
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length[:12]) > MOST_BYTES:
        raise BadRequest(f"a body has {MOST_BYTES} bytes at most", 413)
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_BODY):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("the client went away", 400)
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:
                    raise BadRequest(f"a body has {MOST_BYTES} bytes at most", 413)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise BadRequest("the body did not come in time", 408) from None


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that returns a body that has been read, and then whatever comes after it."""
    waiting = [body]

    async def read() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return read
