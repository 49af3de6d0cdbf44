"""The embedded policy fitted to people, and held against them."""
