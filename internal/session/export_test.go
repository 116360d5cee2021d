package session

// HeldLimit is heldLimit.
const HeldLimit = heldLimit

// nobody is a guest to whom nothing is worth a look.
type nobody struct{ Guest }

// Handle does nothing.
func (nobody) Handle(Event) {}
