"""A stub server's address as the measuring client takes it."""

from urllib.parse import urlsplit

from speccompose.device.stream import Endpoint


def endpoint_of(url: str, model: str, key: str | None = None) -> Endpoint:
    """The chat endpoint of a server at http://host:port."""
    parts = urlsplit(url)
    return Endpoint(parts.hostname, parts.port, model, key)
