"""The laptop cloud: an emulator, a front door, an issuer of tokens and sample content, on loopback only."""
