"""The questions that a proof rests on as files, certificates of their answers, and the check of these."""
