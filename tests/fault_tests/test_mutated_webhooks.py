"""Mutated real calls reach every adapter, every check of a signature and the scan of an erasure; `python -m fault_tests` tries many."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from fault_tests import mutated_webhooks


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_mutated_webhook__is_processed_or_refused_within_its_budget(seed: int) -> None:
    rng, tally = Random(seed), mutated_webhooks.Tally()

    mutated_webhooks.try_out(mutated_webhooks.mutated(rng), rng, tally)

    assert tally.faults == []
    assert tally.checks > 0


def test_mutated__returns_the_same_webhook_for_a_seed() -> None:
    assert mutated_webhooks.mutated(Random(7)) == mutated_webhooks.mutated(Random(7))


def test_headers__include_signature_headers() -> None:
    assert {"x-hubspot-signature-v3", "svix-signature"} <= set(mutated_webhooks.headers())
