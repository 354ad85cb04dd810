"""Line ends: one kind, whatever the system a file comes from."""


def newlines(text: str) -> str:
    """A text whose lines end in \\n, where some ended in \\r\\n or \\r."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
