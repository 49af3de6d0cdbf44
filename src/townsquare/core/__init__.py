"""What everything else is on: draws, schema, tables, files, errors, the registry. Imports nothing else of ours."""
