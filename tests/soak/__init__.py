"""A site under load for as long as one likes, a fault a minute: `make soak MINUTES=20`."""
