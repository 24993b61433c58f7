"""What may be laid over today's protocol: crashes and how bookies come back, and the rules of older and published protocols."""
