"""What changes while a run goes on: settings, shocks, messages, friction, treatments."""
