"""Values into typed property columns: JSON, Arrow and text cells, dates, ids of keys. No files are opened here."""
