"""Results of studies as tables, pictures and a page."""

from teaser.evaluate.report.write import write_report, write_tables

__all__ = ["write_report", "write_tables"]
