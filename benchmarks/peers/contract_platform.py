"""What agents do on the platform, for both sides."""

from __future__ import annotations

POST_EVERY = 5  # steps
FOLLOW_EVERY = 20
UNMEASURED = 2  # first steps, in which feeds fill
