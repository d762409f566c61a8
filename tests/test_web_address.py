"""Where the page's server listens, and by which names."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from thud_env import ThudError

serve = pytest.importorskip("agents.web.serve")
HERE = socket.gethostname().lower()


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("127.0.0.2", {"127.0.0.2", "127.0.0.1", "localhost", "::1", "[::1]"}),
        ("2001:DB8::7", {"2001:db8::7", "[2001:db8::7]", HERE}),
        ("0.0.0.0", {"0.0.0.0", HERE, "localhost"}),
    ],
)
def test_a_server_is_called_by_its_address_and_by_the_names_of_its_machine(
    host: str, names: set[str]
) -> None:
    assert serve._names_of(host) == names


@pytest.mark.parametrize(
    ("host", "asked", "address"),
    [
        ("127.0.0.1", {}, "127.0.0.1:8015/"),
        ("::1", {"rules": "classic", "dwarfs": "a b"}, "[::1]:8015/#rules=classic&dwarfs=a+b"),
        ("0.0.0.0", {"rules": "any"}, f"{socket.gethostname()}:8015/?token=secret#rules=any"),
        ("192.0.2.7", {}, "192.0.2.7:8015/?token=secret"),
    ],
)
def test_the_address_of_the_page_names_its_server_and_its_battle(
    host: str, asked: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    listener = SimpleNamespace(getsockname=lambda: (host, 8015))
    monkeypatch.setattr(serve, "_listen", lambda *_: listener)
    monkeypatch.setattr(serve, "_warm_up", lambda: None)
    monkeypatch.setattr(serve, "_run", lambda *_: None)
    monkeypatch.setattr(serve, "asyncio", SimpleNamespace(run=lambda _: None))
    monkeypatch.setattr(serve.secrets, "token_urlsafe", lambda _: "secret")
    serve.serve(host, 0, asked=asked)
    assert capsys.readouterr().out == f"Thud is at http://{address}  (Ctrl-C ends it)\n"


def test_on_windows_a_port_is_not_shared(monkeypatch) -> None:
    """There, reusing an address would let a second server listen on the port of the first."""
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    with serve._listen("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


def test_a_port_that_is_taken_is_named_and_the_next_one_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve._listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        said = f"^127.0.0.1 port {port}: Address already in use; --port N names another$"
        with pytest.raises(ThudError, match=said):
            serve._listen("127.0.0.1", port)
        monkeypatch.setattr(serve, "PORT", port)
        with serve._listen("127.0.0.1", 0) as another:
            assert another.getsockname()[1] in range(port + 1, port + 20)


@pytest.mark.parametrize("host", ["no host", "é.."])
def test_a_host_that_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(ThudError, match=f"^--host {host}: .* would be right$"):
        serve._listen(host, 0)
