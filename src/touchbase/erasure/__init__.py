"""Erasure and export of a person's data."""

from __future__ import annotations

from touchbase.erasure.commands import (
    AddErasures,
    ClientsWithErasures,
    EndErasure,
    ErasePending,
    ErasePerson,
    Erasure,
    FindErased,
    FindPerson,
    FindSources,
    GetErasure,
    LiftErasure,
    ListErasures,
    ListRequests,
    OpenErasures,
    Person,
    ReadBodies,
    ReadLinks,
    ReadTexts,
    StrikeTexts,
    SweepErasure,
)
from touchbase.erasure.reapply import finish_erasures, reapply_erasures
from touchbase.erasure.service import Eraser, identities

__all__ = [
    "AddErasures",
    "ClientsWithErasures",
    "EndErasure",
    "ErasePending",
    "ErasePerson",
    "Eraser",
    "Erasure",
    "FindErased",
    "FindPerson",
    "FindSources",
    "GetErasure",
    "LiftErasure",
    "ListErasures",
    "ListRequests",
    "OpenErasures",
    "Person",
    "ReadBodies",
    "ReadLinks",
    "ReadTexts",
    "StrikeTexts",
    "SweepErasure",
    "finish_erasures",
    "identities",
    "reapply_erasures",
]
