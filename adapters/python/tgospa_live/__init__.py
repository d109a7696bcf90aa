"""Client of TGOSPA Live: send what a tracker sees, frame by frame, and learn when it gets worse."""

from .client import ClientError, FeedClient, Object, Reject, Welcome, connect
from .feed import Feed, open_feed
from .objects import from_norfair, from_supervision, from_ultralytics

__all__ = [
    "ClientError",
    "Feed",
    "FeedClient",
    "Object",
    "Reject",
    "Welcome",
    "connect",
    "from_norfair",
    "from_supervision",
    "from_ultralytics",
    "open_feed",
]
__version__ = "0.1.0"
