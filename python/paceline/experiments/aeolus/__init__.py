"""Results of the Aeolus paper: ExpressPass, Homa and NDP, each plain and with Aeolus' first round trip."""
