"""One file per use case: what can be asked of Touchbase, whoever asks."""
