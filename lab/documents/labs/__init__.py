"""Lab reports drawn as laboratories of several countries print them, with their truth."""

from lab.documents.labs.layouts import LAYOUTS, DrawnReport, draw_report

__all__ = ["LAYOUTS", "DrawnReport", "draw_report"]
