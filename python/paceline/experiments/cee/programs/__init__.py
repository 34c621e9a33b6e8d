"""Scientific traffic: message-passing programs."""
