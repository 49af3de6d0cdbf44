"""Debates: two agents, or one and a fixed opponent, who argue over one proposition while their stances are kept.

Source: seeds, ``belief-engine``, sections 3 and 4.1, 4.2, appendices A, C, F and I. The way through a debate is
:mod:`townsquare.debate.trial`; settings are in :mod:`townsquare.debate.settings`; what speakers, debaters and judges
take and give is in :mod:`townsquare.debate.contract`.
"""
