"""Notifications: webhooks by the rules of Standard Webhooks 1.0, and email to the administrator.

`notifier` reads the committed history and has messages sent. `outbox` and `alerts` hold what is to be sent, durable
until it is. `endpoints` holds who receives webhooks; `addresses`, `messages`, `sending` and `email` are how.
`service` has the operations for CLI, API and console. Nothing in here writes a status, and nothing waits for a receiver
but the notifier's own threads.
"""

from stateward.http_addresses import AddressRefused
from stateward.notifications.deliveries import Delivery, DeliveryAttempt, DeliveryState
from stateward.notifications.endpoints import Webhook
from stateward.notifications.notifier import Notifier
from stateward.notifications.service import NotificationService

__all__ = [
    "AddressRefused",
    "Delivery",
    "DeliveryAttempt",
    "DeliveryState",
    "NotificationService",
    "Notifier",
    "Webhook",
]
