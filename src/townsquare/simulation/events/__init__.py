"""Events and treatments: messages, friction and other changes while a run goes on."""
