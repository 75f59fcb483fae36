"""Results of studies as tables, pictures and a page."""

from teaser.evaluate.report.report import write_dial, write_report, write_tables

__all__ = ["write_dial", "write_report", "write_tables"]
