"""What can go wrong by somebody's hand; every message is one sentence that says what to do.

Messages of these classes never quote a document, so they may be logged and recorded as they are.
"""


class BakeoffError(Exception):
    """A mistake that the user can mend; shown without a traceback."""


class ConfigError(BakeoffError):
    """A key, a value or a combination in the configuration is wrong (exit code 2)."""


class DataError(BakeoffError):
    """The user's data, or a checkpoint, is not what its configuration says (exit code 2)."""


class NotApplicable(ConfigError):
    """The combination makes no sense for this data or model: exit code 2 alone, a listed cell in a sweep."""


class UnknownSetting(NotApplicable):
    """A key that this combination does not have, though another kind of model may."""
