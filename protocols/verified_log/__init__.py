"""The Verified Log in four stages: a log of segments, each on R nodes and owned by one producer."""
