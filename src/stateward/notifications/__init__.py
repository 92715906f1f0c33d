"""Notices: what leaves the house by itself. Webhooks by the rules of Standard Webhooks 1.0, and mail to the admin.

`notifier` follows the committed log and has things sent; `outbox` and `letters` are what is to be sent, durable until
it is; `endpoints` is who is told; `addresses`, `sending`, `signing`, `messages` and `mail` are how; `desk` is what
doors ask. Nothing in here writes a status, and nothing waits for a receiver but the notifier's own threads.
"""

from stateward.notifications.addresses import AddressRefused, AllowedHosts
from stateward.notifications.deliveries import Attempt, Delivery, State
from stateward.notifications.email import EmailQueue
from stateward.notifications.endpoints import Endpoints, Webhook
from stateward.notifications.notifier import Mailing, Notifier
from stateward.notifications.outbox import Outbox
from stateward.notifications.service import NotificationService

__all__ = [
    "AddressRefused",
    "AllowedHosts",
    "Attempt",
    "Delivery",
    "EmailQueue",
    "Endpoints",
    "Mailing",
    "NotificationService",
    "Notifier",
    "Outbox",
    "State",
    "Webhook",
]
