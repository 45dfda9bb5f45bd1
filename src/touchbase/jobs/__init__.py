"""Jobs: long work in the background, with progress, checkpoints and files; other capabilities register their kinds."""
