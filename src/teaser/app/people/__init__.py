"""What people did, stored: events, their fold into state, the database."""
