"""The language of protocols, its two readings, and the engines that check properties."""
