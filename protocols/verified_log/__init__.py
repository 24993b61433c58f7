"""The Verified Log: a log of segments, each on R nodes and owned by one producer, in its author's four stages."""
