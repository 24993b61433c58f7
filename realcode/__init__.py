"""The real Apache BookKeeper, driven message by message: what a model says beside what the code does."""
