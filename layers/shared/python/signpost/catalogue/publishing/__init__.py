"""Publications: parsing, planning and applying everything that an author sends, as one change."""
