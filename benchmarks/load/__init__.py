"""Under load: real servers, and a client that is not what holds them up."""
