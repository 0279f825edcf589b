"""What a systemd unit says, and which keys systemd 247 knows (tests/data/systemd-247-keys.txt)."""

from pathlib import Path

KEYS = Path(__file__).resolve().parent / "data" / "systemd-247-keys.txt"


def known_keys() -> dict[str, set[str]]:
    """Section -> keys."""
    found: dict[str, set[str]] = {}
    for line in KEYS.read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            section.add(line)
    return found


def read_unit(text: str) -> list[tuple[str, str, str]]:
    """(section, key, value) of every line that is no comment."""
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.append((section, key, value))
    return found


def value_of(text: str, key: str) -> list[str]:
    """Every value of a key, in order."""
    return [value for _, name, value in read_unit(text) if name == key]


def unknown_keys(text: str) -> list[str]:
    """What systemd 247 would ignore with a warning."""
    known = known_keys()
    return [
        f"[{section}] {key}"
        for section, key, _ in read_unit(text)
        if key not in known.get(section, set())
    ]
