"""Protocol files with one slip each, and a reference that decides them in plain Python over plain values."""
