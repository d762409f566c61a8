"""The two-battle game of docs/rules.md, section 6: won by 3, lost by 7, so lost by 4."""

LIMITS = {"agreement": True, "offer_after": 1}
WON_BY_3 = ["dE2-E6", "TG7-F6", "dE6-F6xF6", "TG8-G7xF6", "dA6-B6", "offer", "accept"]
"""A troll for a dwarf; with the trolls to move, both sides have enough."""
LOST_BY_7 = [
    "dE2-E6",
    "TG7-F6",
    "dE6-F6xF6",
    "TG8-G7xF6",
    "dA6-F6",
    "TJ9-K10",
    "dF6-G7xG7",
    "TH7-H6",
    "offer",
    "accept",
]
"""Two trolls for a dwarf: lost by the player who has the trolls now."""
