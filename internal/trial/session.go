package trial

import "lightsout/internal/session"

// poll checks something that takes time.
type poll = session.Progress
