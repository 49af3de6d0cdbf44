"""Pages about recorded runs: one self-contained HTML file each, without scripts or outside requests."""

from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.comparison_page import write_comparison
from townsquare.pages.report.run_page import write_report

__all__ = ["Comparison", "write_comparison", "write_report"]
