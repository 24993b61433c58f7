"""Layers over today's protocol: crashes, boot, durability, and rules of older and published protocols."""
