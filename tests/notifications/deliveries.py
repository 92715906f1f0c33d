"""Records that cause deliveries, and the one delivery that came of them."""

from stateward.app import App
from stateward.engine.coordinator import Submission
from stateward.notifications import Delivery

SLOWLY = "notifications: {webhook_allow: [127.0.0.1], webhook_timeout_seconds: 2}"


def opened(app: App, count: int = 1) -> list[str]:
    """Records that were just opened: one transition each, to queued_for_parse."""
    made = app.coordinator.submit([Submission(machine="upload", actor="person:ann")] * count)
    return [each.record.id for each in made]


def only(app: App) -> Delivery:
    (found,) = app.notifications.deliveries()
    return found
