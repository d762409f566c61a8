"""What each game is worth to each side between equals."""
