"""The report: a dossier to one self-contained page, in an internal and a public edition."""

from molehill.report.methods import methods_note
from molehill.report.others import report_tables
from molehill.report.page.page import render_report

__all__ = ["methods_note", "render_report", "report_tables"]
