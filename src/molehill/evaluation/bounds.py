"""Where a figure becomes a remark, or colours a family of the scorecard; docs/review-boards.md says why."""

RISK_STEP = 0.05
# Medians over the tables predict from the kept columns, as anybody can from one table: some rise is no surprise.
POOLED_STEP = 0.1
HIGH_RISK, ABOVE_HIGH = 0.8, "above_80"
UNPROTECTED = 0.5
# Mean risk of those who stand out most; the floor of a typical record is about a tenth.
STANDING_OUT = {"isolated_mean": "the most isolated 1%", "largest_mean": "the largest 1%"}
EXPOSED, GIVEN_AWAY = 0.2, 0.5
LOW_OVERLAP = 0.5
FAR = 2.0
TELLABLE = 3.0
# How often tables lie nearer to who was in the data: half is no sign of it. docs/columns.md has what was measured.
SHOWN, REPEATED = 0.6, 0.75
# Ratios to the confidential table, in either direction: beyond the first to be decided on, beyond the second absurd.
SPREAD = {"spread_ratio": (1.25, 2.0), "tail_ratio": (1.25, 1.75)}
REACH = (4.0, 10.0)
