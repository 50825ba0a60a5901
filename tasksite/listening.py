"""The address of the web server: free or taken, and answering or not yet."""

import contextlib
import http.client
import socket
from collections.abc import Iterator


class AddressTaken(Exception):
    """The address cannot be listened at."""


@contextlib.contextmanager
def held(host: str, port: int) -> Iterator[tuple[str, int]]:
    """The numeric address and port for the web server, checked to be free and kept from other programs.

    The web server's workers share their port among themselves (SO_REUSEPORT), so a second server of the same
    user would quietly take half of the requests: one that is not to share is tried first. Port 0 finds a free one.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise AddressTaken(f"{host} is no address of this machine: {error.strerror}.") from error
    with socket.socket(family, kind, protocol) as alone, socket.socket(family, kind, protocol) as shared:
        for each in (alone, shared):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            alone.bind(address)
            number, found = alone.getsockname()[:2]
            alone.close()
            shared.bind((number, found))
        except OSError as error:
            raise AddressTaken(f"Nothing can listen at {host} port {port}: {error.strerror}.") from error
        yield number, found


def answers(host: str, port: int) -> bool:
    """Whether a web server answers there: anything at all, so that the site has been loaded."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def reachable(host: str) -> str:
    """Where one who listens everywhere is found from this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def url(host: str, port: int) -> str:
    host = reachable(host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
