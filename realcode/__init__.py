"""The real Apache BookKeeper, driven message by message and compared with the model."""
